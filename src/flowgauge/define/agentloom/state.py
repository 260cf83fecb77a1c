"""AgentLoom's shared state, read as a graph: who wrote what a step reads?

In: steps with their `output` and `depends_on`. Out: paths into inputs and node
outputs for every `state.x`. AgentLoom lets any step read any key at any time;
here a value comes from a node that is done, so a read that no order holds is a
problem, named with the step that would have to come first.
"""

from __future__ import annotations

from typing import Any

import msgspec

from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings
from flowgauge.lang.path import Key
from flowgauge.nodes.topology import Topology, find_cycle


class Step(msgspec.Struct, frozen=True):
    """A step as the file holds it."""

    id: str
    kind: str
    value: dict[str, Any]
    way: Way
    needs: tuple[str, ...]
    routes: tuple[str, ...]
    """Targets of a router."""

    def writes(self) -> tuple[str, ...]:
        """The key of the state, as a path; nothing where the step has no output."""
        output = self.value.get("output")
        return tuple(output.split(".")) if isinstance(output, str) and output else ()


class Source(msgspec.Struct, frozen=True):
    """Where a value comes from: paths of which at most one is not null, and what stands in for a lone one that may be skipped."""

    paths: tuple[str, ...]
    default: Any = None


RENAMED: dict[str, dict[str, str]] = {
    "http_request": {"status_code": "status", "body": "text", "headers": "headers"},
    "shell_command": {"returncode": "exit_code", "stdout": "stdout", "stderr": "stderr"},
    "file_write": {"written": "written", "path": "path"},
}
"""Fields of a tool's answer, there and here."""
_WHOLE: dict[str, tuple[Key, ...]] = {
    "llm_call": ("text",),
    "router": ("chosen", 0),
    "subworkflow": ("output",),
    "file_read": ("value",),
}


class State:
    """The keys of the state, who writes them, and in which order."""

    def __init__(self, initial: dict[str, Any], steps: list[Step], findings: Findings) -> None:
        self.initial = initial
        self.steps = {step.id: step for step in steps}
        self.findings = findings
        self.read_inputs: dict[str, None] = {}
        self.extra_needs: dict[str, dict[str, None]] = {}
        edges: dict[str, dict[str, None]] = {step.id: dict.fromkeys(step.needs) for step in steps}
        for step in steps:
            for target in step.routes:
                edges.setdefault(target, {})[step.id] = None
        self.graph = Topology(needs={step_id: tuple(needs) for step_id, needs in edges.items()}, on_call=frozenset())
        self._ancestors: dict[str, frozenset[str]] = {}
        self._routers = [frozenset(step.routes) for step in steps if step.routes]
        self._layers: dict[str, int] = {}
        if not find_cycle(self.graph.needs):
            for step in steps:
                self._layer(step.id)
        self._writers = [(step.writes(), step.id) for step in steps if step.writes()]
        self._routed = {target for step in steps for target in step.routes}

    def written_keys(self) -> list[str]:
        """Keys of the state that some step writes."""
        return list(dict.fromkeys(keys[0] for keys, _ in self._writers))

    def knows(self, key: str) -> bool:
        """Is it a key of the state?"""
        return key in self.initial or any(keys[0] == key for keys, _ in self._writers)

    def source(self, keys: tuple[Key, ...], reader: Step | None, way: Way) -> Source | None:
        """Where a step (or, None, the end) finds a value. A problem is noted where that cannot be told."""
        writers = self._writers_of(keys, reader, way)
        if writers is None:
            return None
        if not writers:
            self.read_inputs[str(keys[0])] = None
            return Source((spell("inputs", keys),))
        paths = tuple(self._path(writer, keys) for writer in writers)
        lone = len(writers) == len(keys) == 1 and self._is_routed(writers[0])
        return Source(paths, (self.initial.get(str(keys[0])) or None) if lone else None)

    def _writers_of(self, keys: tuple[Key, ...], reader: Step | None, way: Way) -> list[str] | None:
        named = [(written, writer) for written, writer in self._writers if written == keys[: len(written)]]
        if partly := [writer for written, writer in self._writers if len(written) > len(keys) and written[: len(keys)] == keys]:
            message = f"state.{keys[0]} is written in parts by {', '.join(partly)}, and read as a whole."
            self.findings.add(way, message, "Read the parts, or write the whole.")
            return None
        writers = [writer for _, writer in named if reader is None or self._is_seen(writer, reader)]
        if reader is not None:
            for _, writer in named:
                if not self._settles(writer, reader, keys, way):
                    return None
        last = self._last(writers)
        return last if self._are_exclusive(last, keys, way) else None

    def _last(self, writers: list[str]) -> list[str]:
        """Those that no other one comes after, in the order of the file."""
        last: list[str] = []
        for writer in sorted(writers, key=lambda name: -self._layers.get(name, 0)):
            if not any(writer in self._before(other) for other in last):
                last.append(writer)
        return [writer for writer in writers if writer in last]

    def _before(self, step_id: str) -> frozenset[str]:
        if step_id not in self._ancestors:
            self._ancestors[step_id] = self.graph.ancestors(step_id)
        return self._ancestors[step_id]

    def _is_seen(self, writer: str, reader: Step) -> bool:
        """Is the writer done before the reader begins? AgentLoom runs layer by layer, so an earlier layer is enough."""
        if writer in self._before(reader.id):
            return True
        earlier = self._layers.get(writer, 0) < self._layers.get(reader.id, 0)
        if writer == reader.id or not earlier or self._exclude(writer, reader.id):
            return False
        self.extra_needs.setdefault(reader.id, {})[writer] = None
        return True

    def _settles(self, writer: str, reader: Step, keys: tuple[Key, ...], way: Way) -> bool:
        """Is there an order, or no need of one?"""
        if writer == reader.id or self._is_seen(writer, reader) or reader.id in self._before(writer) or self._exclude(writer, reader.id):
            return True
        if self._layers.get(writer, 0) > self._layers.get(reader.id, 0):
            return True
        message = f"state.{keys[0]} is written by the step '{writer}', which '{reader.id}' does not wait for."
        self.findings.add(way, message, f"Add `depends_on: [{writer}]`.")
        return False

    def _are_exclusive(self, writers: list[str], keys: tuple[Key, ...], way: Way) -> bool:
        for number, one in enumerate(writers):
            for other in writers[number + 1 :]:
                if not self._exclude(one, other):
                    message = f"state.{keys[0]} is written by '{one}' and '{other}', and neither comes after the other."
                    self.findings.add(way, message, "Let one depend on the other, or write to two keys.")
                    return False
        return True

    def _exclude(self, one: str, other: str) -> bool:
        """Do they stand behind different targets of one router?"""
        before_one, before_other = self._before(one) | {one}, self._before(other) | {other}
        for targets in self._routers:
            mine, theirs = targets & before_one, targets & before_other
            if mine and theirs and not mine & theirs:
                return True
        return False

    def _is_routed(self, step_id: str) -> bool:
        return bool(self._routed & (self._before(step_id) | {step_id}))

    def _path(self, writer: str, keys: tuple[Key, ...]) -> str:
        step = self.steps[writer]
        rest = keys[len(step.writes()) :]
        tool = str(step.value.get("tool_name", "")) if step.kind == "tool" else ""
        if step.kind == "llm_call" and step.value.get("response_schema"):
            return spell("nodes", (writer, "json", *rest))
        names = RENAMED.get(_tool_name(tool), {})
        if rest and rest[0] in names:
            rest = (names[str(rest[0])], *rest[1:])
        return spell("nodes", (writer, *_WHOLE.get(_tool_name(tool) or step.kind, ()), *rest))

    def _layer(self, step_id: str) -> int:
        """How many steps stand before it, at the least; iterative, for long chains."""
        stack = [step_id]
        while stack:
            current = stack[-1]
            needs = [need for need in self.graph.needs.get(current, ()) if need in self.steps]
            missing = [need for need in needs if need not in self._layers]
            if missing:
                stack.extend(missing)
                continue
            self._layers[current] = 1 + max((self._layers[need] for need in needs), default=-1)
            stack.pop()
        return self._layers[step_id]


def _tool_name(name: str) -> str:
    return "shell_command" if name == "shell" else name


def spell(root: str, keys: tuple[Key, ...]) -> str:
    """A path that templates and conditions both read."""
    return root + "".join(f".{key}" if isinstance(key, str) and key.isidentifier() else f"[{_index(key)}]" for key in keys)


def _index(key: Key) -> str:
    return str(key) if isinstance(key, int) else '"' + key.replace("\\", "\\\\").replace('"', '\\"') + '"'

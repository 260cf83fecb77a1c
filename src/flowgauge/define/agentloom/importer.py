"""AgentLoom workflows (a file with `steps:`) become Flowgauge's own.

In: the file's value. Out: a workflow's value for the usual checks, and findings
that still point into the AgentLoom file. What cannot be carried over is a
problem that names it; nothing is left out silently. docs/agentloom.md lists what
becomes what.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from flowgauge.define.agentloom.state import State, Step
from flowgauge.define.agentloom.text import Rewriter
from flowgauge.define.agentloom.tools import Sandbox, import_tool, read_sandbox
from flowgauge.documents.document import Way, scan_document
from flowgauge.documents.findings import Findings
from flowgauge.errors import BadFile
from flowgauge.lang.wording import did_you_mean

MOST_STEPS = 500
_TOP_KEYS = ("name", "version", "description", "config", "state", "state_schema", "steps")
_CONFIG: dict[str, str] = {
    "provider": "provider",
    "model": "model",
    "max_retries": "max_retries",
    "budget_usd": "budget_usd",
    "timeout": "timeout_s",
    "max_concurrent_steps": "max_concurrent_nodes",
    "stream": "stream",
}
_CONFIG_DEFAULTS = {"provider": "openai", "model": "gpt-4o-mini", "max_retries": 3, "max_concurrent_nodes": 10}
_CONFIG_ELSEWHERE = ("on_step_failure", "sandbox")
_CONFIG_WITHOUT_EFFECT = ("responses_file", "latency_model", "latency_ms", "capture_prompts", "strict_outputs")
_STEP_KEYS = frozenset({"id", "type", "depends_on", "output", "timeout", "retry"})
_KEYS: dict[str, frozenset[str]] = {
    "llm_call": frozenset({"prompt", "system_prompt", "model", "temperature", "max_tokens", "stream", "attachments", "response_schema"}),
    "tool": frozenset({"tool_name", "tool_args"}),
    "router": frozenset({"conditions", "default"}),
    "subworkflow": frozenset({"workflow_path", "workflow_inline", "isolated_state", "input", "return_keys"}),
}
_WAYS = {"needs": "depends_on", "system": "system_prompt", "cases": "conditions", "otherwise": "default", "with": "tool_args"}
"""Fields of a node whose counterpart in a step has another name."""


class Surroundings(msgspec.Struct, frozen=True):
    """What a step's importer may need beside the step."""

    sandbox: Sandbox
    folder: Path | None


def import_agentloom(value: Mapping[str, Any], findings: Findings, folder: Path | None = None) -> tuple[dict[str, Any], Findings]:
    """The workflow's value, and findings that know where its parts came from. `folder` is where other files are looked for."""
    _check_keys(value, _TOP_KEYS, (), findings)
    if value.get("state_schema"):
        findings.add(("state_schema",), "Redaction by key cannot be carried over.", "Keep secrets in the environment; they are redacted.")
    steps = _steps(value.get("steps"), findings)
    state = State(_mapping(value.get("state"), ("state",), findings), steps, findings)
    config = _mapping(value.get("config"), ("config",), findings)
    around = Surroundings(read_sandbox(config.get("sandbox"), findings), folder)
    nodes = [(step, node) for step in steps if (node := _node(step, state, around, findings)) is not None]
    for step, node in nodes:
        needs = dict.fromkeys((*step.needs, *state.extra_needs.get(step.id, ())))
        if needs:
            node["needs"] = list(needs)
    output = {key: Rewriter(state, None).hole((key,), ("state", key)) for key in state.written_keys()}
    workflow = {
        "name": value.get("name"),
        "description": _description(value),
        "inputs": _inputs(state),
        "config": _config(config, findings),
        "nodes": [node for _, node in nodes],
        "output": output,
    }
    return workflow, _pointing_back(findings, [step.way for step, _ in nodes])


def _steps(value: Any, findings: Findings) -> list[Step]:
    if not isinstance(value, list) or not value:
        findings.add(("steps",), "There are no steps.", "List at least one.")
        return []
    if len(value) > MOST_STEPS:
        findings.add(("steps",), f"More than {MOST_STEPS} steps cannot be carried over.", "Split the workflow.")
        return []
    found = (_step(item, ("steps", number), findings) for number, item in enumerate(value))
    return [step for step in found if step is not None]


def _step(item: Any, way: Way, findings: Findings) -> Step | None:
    if not isinstance(item, dict) or not isinstance(item.get("id"), str):
        findings.add(way, "A step must be a mapping with an `id`.", "Write `id`, `type` and the fields of that type.")
        return None
    kind = item.get("type")
    if not isinstance(kind, str) or kind not in _STEPS:
        remedy = f"{', '.join(_STEPS)} can be carried over."
        findings.add((*way, "type"), f"Steps of type '{kind}' cannot be carried over.", remedy)
        return None
    for key, entry in item.items():
        if key not in _STEP_KEYS and key not in _KEYS[kind] and entry not in (None, [], {}, ""):
            findings.add((*way, key), f"'{key}' of a {kind} step cannot be carried over.", "Remove it.")
    return Step(item["id"], kind, item, way, tuple(_words(item.get("depends_on"))), tuple(_targets(item)) if kind == "router" else ())


def _targets(item: Mapping[str, Any]) -> list[str]:
    conditions = item.get("conditions")
    named = [entry.get("target") for entry in (conditions if isinstance(conditions, list) else ()) if isinstance(entry, dict)]
    return _words([*named, item.get("default")])


def _words(value: Any) -> list[str]:
    return [word for word in value if isinstance(word, str)] if isinstance(value, list) else []


def _node(step: Step, state: State, around: Surroundings, findings: Findings) -> dict[str, Any] | None:
    node = _STEPS[step.kind](step, Rewriter(state, step), around, findings)
    if node is None:
        return None
    if step.value.get("timeout") is not None:
        node["timeout_s"] = step.value["timeout"]
    if isinstance(step.value.get("retry"), dict):
        node["retry"] = _retry(step.value["retry"], (*step.way, "retry"), findings)
    return {"id": step.id, **node}


def _retry(value: Mapping[str, Any], way: Way, findings: Findings) -> dict[str, Any]:
    _check_keys(value, ("max_retries", "backoff_base", "backoff_max", "jitter"), way, findings)
    if value.get("backoff_base", 2) != 2:
        findings.warn((*way, "backoff_base"), "Waiting times double here, whatever backoff_base says.")
    return {"max": value.get("max_retries", 3), "backoff_s": 1.0, "max_backoff_s": value.get("backoff_max", 60.0)}


def _llm_call(step: Step, rewriter: Rewriter, _around: Surroundings, findings: Findings) -> dict[str, Any]:
    node: dict[str, Any] = {"type": "ai"}
    for name, ours in (("prompt", "prompt"), ("system_prompt", "system")):
        text = step.value.get(name)
        if text is not None:
            node[ours] = rewriter.prompt(text, (*step.way, name)) if isinstance(text, str) else text
    own = {name: step.value[name] for name in ("model", "temperature", "max_tokens", "stream") if step.value.get(name) is not None}
    if own:
        node["config"] = own
    if images := _images(step, rewriter, findings):
        node["images"] = images
    if schema := _schema(step.value.get("response_schema"), (*step.way, "response_schema"), findings):
        node["schema"] = schema
    return node


def _images(step: Step, rewriter: Rewriter, findings: Findings) -> list[str]:
    images: list[str] = []
    attachments = step.value.get("attachments")
    for number, item in enumerate(attachments if isinstance(attachments, list) else ()):
        way = (*step.way, "attachments", number)
        source = item.get("source") if isinstance(item, dict) else None
        if not isinstance(source, str) or item.get("type", "image") != "image":
            findings.add(way, "Only images can be carried over.", "Remove the attachment.")
        elif source.startswith(("http://", "https://", "data:", "{")):
            images.append(rewriter.prompt(source, way))
        else:
            findings.add(way, "A picture from a local file cannot be carried over.", "Give an https URL or a data: URL.")
    return images


def _schema(value: Any, way: Way, findings: Findings) -> dict[str, Any] | None:
    if not isinstance(value, dict):
        return None
    if value.get("type") == "json_schema" and isinstance(value.get("schema"), dict):
        return dict(value["schema"])
    if value.get("type", "json_object") == "json_object":
        return {"type": "object"}
    findings.add(way, "A schema that is a Python class cannot be carried over.", "Write it as json_schema.")
    return None


def _tool(step: Step, rewriter: Rewriter, around: Surroundings, findings: Findings) -> dict[str, Any] | None:
    return import_tool(step, rewriter, around.sandbox, findings)


def _router(step: Step, rewriter: Rewriter, _around: Surroundings, findings: Findings) -> dict[str, Any]:
    cases = []
    conditions = step.value.get("conditions")
    for number, item in enumerate(conditions if isinstance(conditions, list) else ()):
        way = (*step.way, "conditions", number)
        if not isinstance(item, dict) or not isinstance(item.get("expression"), str) or not isinstance(item.get("target"), str):
            findings.add(way, "A condition needs `expression` and `target`.", "Write both.")
            continue
        cases.append({"when": rewriter.expression(item["expression"], (*way, "expression")), "then": [item["target"]]})
    default = step.value.get("default")
    node: dict[str, Any] = {"type": "branch", "cases": cases or [{"when": "false", "then": []}]}
    if isinstance(default, str):
        node["otherwise"] = [default]
    return node


def _subworkflow(step: Step, rewriter: Rewriter, around: Surroundings, findings: Findings) -> dict[str, Any] | None:
    path, inline = step.value.get("workflow_path"), step.value.get("workflow_inline")
    if step.value.get("return_keys") is not None:
        findings.warn((*step.way, "return_keys"), "All that the other workflow writes is returned, not only return_keys.")
    isolated = bool(step.value.get("isolated_state"))
    given = step.value.get("input") or {}
    if not isolated and given:
        findings.add((*step.way, "input"), "`input` has no effect without isolated_state.", "Set isolated_state: true.")
    arguments = (
        {key: rewriter.argument(entry, (*step.way, "input", key)) for key, entry in given.items()} if isinstance(given, dict) else {}
    )
    if isinstance(inline, dict):
        definition = _inline(inline, step, findings)
        shared = {} if isolated else _shared(definition, rewriter)
        return {"type": "workflow", "workflow": str(inline.get("name", step.id)), "definition": definition, "with": {**shared, **arguments}}
    if isinstance(path, str) and path:
        shared = {} if isolated else _shared(_peek(path, around.folder), rewriter)
        return {"type": "workflow", "workflow": path if path.startswith(("/", ".")) else f"./{path}", "with": {**shared, **arguments}}
    findings.add(step.way, "The step names no workflow.", "Give workflow_path or workflow_inline.")
    return None


def _inline(inline: Mapping[str, Any], step: Step, findings: Findings) -> dict[str, Any]:
    start = (*step.way, "workflow_inline")
    inner = Findings(findings.file, lambda way: findings.locate((*start, *way)), lambda way: findings.spell((*start, *way)))
    definition, _ = import_agentloom(inline, inner)
    findings.problems.extend(inner.problems)
    findings.warnings.extend(inner.warnings)
    return definition


def _peek(path: str, folder: Path | None) -> Mapping[str, Any]:
    """Another file's workflow, for the names of its inputs only: what is wrong with it is found when it is loaded."""
    if folder is None:
        return {}
    try:
        document = scan_document(folder / path)
        if isinstance(document.value, dict) and "steps" in document.value:
            return import_agentloom(document.value, Findings(document.file, document.find))[0]
    except BadFile:
        return {}
    return document.value if isinstance(document.value, dict) else {}


def _shared(definition: Mapping[str, Any], rewriter: Rewriter) -> dict[str, str]:
    """The inner workflow sees the outer state: its inputs are given what the outer one has under the same name."""
    state, step = rewriter.state, rewriter.step
    items = definition.get("inputs")
    names = [item.get("name") for item in (items if isinstance(items, list) else ()) if isinstance(item, dict)]
    known = [name for name in names if isinstance(name, str) and state.knows(name)]
    return {name: rewriter.hole((name,), step.way if step else ()) for name in known}


_STEPS: dict[str, Callable[[Step, Rewriter, Surroundings, Findings], dict[str, Any] | None]] = {
    "llm_call": _llm_call,
    "tool": _tool,
    "router": _router,
    "subworkflow": _subworkflow,
}


def _inputs(state: State) -> list[dict[str, Any]]:
    """Keys that are read before any step writes them, and those that none writes."""
    written = set(state.written_keys())
    names = [name for name in state.initial if name in state.read_inputs or name not in written]
    names += [name for name in state.read_inputs if name not in state.initial]
    return [_input(name, state.initial.get(name)) for name in names]


def _input(name: str, value: Any) -> dict[str, Any]:
    kind = next((kind for python, kind in _TYPES if isinstance(value, python)), "string")
    return {"name": name, "type": kind} if value is None else {"name": name, "type": kind, "default": value}


_TYPES: tuple[tuple[type, str], ...] = (
    (bool, "boolean"),
    (int, "integer"),
    (float, "number"),
    (str, "string"),
    (dict, "object"),
    (list, "array"),
)


def _config(config: Mapping[str, Any], findings: Findings) -> dict[str, Any]:
    _check_keys(config, (*_CONFIG, *_CONFIG_ELSEWHERE, *_CONFIG_WITHOUT_EFFECT), ("config",), findings)
    for name in _CONFIG_WITHOUT_EFFECT:
        if config.get(name):
            findings.warn(("config", name), f"'{name}' has no counterpart here and no effect.")
    if config.get("on_step_failure", "skip_downstream") != "skip_downstream":
        message = "on_step_failure: continue, where steps run though the one before failed, cannot be carried over."
        findings.add(("config", "on_step_failure"), message, "Write skip_downstream.")
    carried = {ours: config[name] for name, ours in _CONFIG.items() if config.get(name) is not None}
    return {**_CONFIG_DEFAULTS, **carried, "on_node_failure": "continue"}


def _description(value: Mapping[str, Any]) -> Any:
    text, version = value.get("description", ""), value.get("version")
    return f"{text.strip()} (version {version})".strip() if isinstance(text, str) and version is not None else text


def _mapping(value: Any, way: Way, findings: Findings) -> dict[str, Any]:
    if value is None or isinstance(value, dict):
        return value or {}
    findings.add(way, "Expected a mapping of names to values.", "Write `name: value`.")
    return {}


def _check_keys(value: Mapping[str, Any], known: tuple[str, ...], way: Way, findings: Findings) -> None:
    for key in value:
        if key not in known:
            findings.add((*way, key), f"'{key}' cannot be carried over.", did_you_mean(key, known))


def _pointing_back(findings: Findings, origins: list[Way]) -> Findings:
    """The same findings, whose ways are those of the new workflow."""

    def back(way: Way) -> Way:
        if len(way) > 1 and way[0] == "nodes" and isinstance(way[1], int) and way[1] < len(origins):
            rest = way[2:]
            return (*origins[way[1]], *((_WAYS.get(str(rest[0]), str(rest[0])), *rest[1:]) if rest else ()))
        return ("state",) if way[:1] in (("inputs",), ("output",)) else way

    turned = Findings(findings.file, lambda way: findings.locate(back(way)), lambda way: findings.spell(back(way)))
    turned.problems, turned.warnings = findings.problems, findings.warnings
    return turned

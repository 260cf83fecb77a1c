"""Random JSON-RPC: bodies from nonsense to almost right, the same for the same seed.

Parameters are made from the document that the server itself gives, then spoiled:
wrong types, missing and unknown fields, numbers at the edges, strings that have
broken other programs. What would only take long (waiting, measuring often) is
kept short.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from random import Random
from typing import Any

STRINGS = (
    "", " ", "a", "latest", "0", "-1", "null", "true", "\x00", "a\x00b", "\n\r\t", "ünï çödé", "😀" * 3, "\u202e", "\ufeff", "%00",
    "%s%n", "../../etc/passwd", "'; DROP TABLE plays; --", "' OR 1=1", "<script>alert(1)</script>", "{{ inputs.x }}", "{{", "${7*7}",
    "__class__", "wf_", "pl_", "bm_", "wv_", "x" * 300, "x" * 20_000, "W10", "WyJiZW5jaG1hcmtzIiwxXQ", "WyJwbGF5cyIsIngiXQ", "bmV2ZXI=",
    "WyJiZW5jaG1hcmtzIiwxMDAwMDAwMDAwMDAwMDAwMDAwMDAsIngiXQ", "2026-01-01", "1e5", "NaN", "Infinity", "newest:ask", "ask:default", ":", "*",
)  # fmt: skip
NUMBERS: tuple[float, ...] = (
    0, -0.0, 1, -1, 2, 7, 50, 255, 256, 999, 1000, 1001, 2**31 - 1, 2**31, 2**53, 2**63 - 1, 2**63, -(2**63), -(2**63) - 1, 2**64, 10**30,
    0.5, 1e-300, 1e308, -1e308, 3.14,
)  # fmt: skip
KEYS = ("a", "", "sid", "name", "__proto__", "id", "\x00", "ü")
ASK = "name: noise\nnodes:\n  - {id: a, type: ai, prompt: hi}\nconfig: {provider: mock, model: fast}\n"
YAMLS = (
    ASK, "name: noise\nnodes: []\n", "a: [", "- 1", "&a [*a]", "!!python/object:os.system 1", "name: ''", "\t", "{}",
    "a: &x [1]\nb: [*x, *x, *x]",
)  # fmt: skip
GARBAGE = (b"", b"\x00", b"[" * 5000, b'{"a":' * 5000, b"\xff\xfe{}", b"nul", b"1e999", b"9" * 5000)
RUN = {"status": "success", "duration_ms": 1.5}
GOOD: dict[str, tuple[Any, ...]] = {
    "text": YAMLS,
    "definition": (
        {"name": "noise", "nodes": [{"id": "a", "type": "ai", "prompt": "hi"}], "config": {"provider": "mock", "model": "fast"}},
    ),
    "input_data": ({"question": "Is it?"}, '{"question": "Is it?"}', {"question": 7}, {}),
    "input_values": ({"question": "Is it?"}, {"colour": "red"}, {}),
    "input_sets": ([{"question": "a"}, {"question": "b"}], [{}], [{"question": 1}]),
    "configs": (
        {"cases": [{"name": "a", "inputs": {"question": "a"}}]},
        {"configs": [{"name": "b", "config": {"model": "mock/fast"}}], "cases": [{"name": "a", "inputs": {"question": "a"}}]},
        {"cases": [{"name": "a", "inputs": {}}], "runs": 10**30},
        [],
    ),
    "config": ("default", "one", ""),
    "play_start.config": ({"model": "mock/fast"}, {"temperature": 9}, {"extra": {"mock": {"latency_ms": 1}}}),
    "policy": ({}, {"tolerance": 0.1}, {"metrics": {"duration_ms": {"tolerance": 1e308}}}),
    "request": ({"workflow_sid": "ask", "configs": {"cases": [{"name": "a", "inputs": {"question": "a"}}]}},),
    "cron": ("", "0 3 * * *", "61 * * * *", "* * * * * *", "0 0 30 2 *"),
    "every_s": (0, 3600, 10**9, 1),
    "webhook": ("", "ftp://127.0.0.1", "http://"),
    "after": (0, 1, 5, 2**62),
    "wait_s": (0, 0.01, -1, 31),
    "runs": (1, 2, 1, 2, 0, 10**30),
    "benchmark_set.runs": ([RUN, RUN], [RUN], [{**RUN, "retries": 2**62}], [{**RUN, "status": "failed", "cost_usd": 1e308}] * 3, 7),
    "num_runs": (1, 2, 0, -1, 10**9),
    "max_concurrency": (1, 4, 0, 10**6),
    "timeout_s": (1, 0.5, 1e308, 0),
}
"""By the name of a parameter. What could take long is always taken from here."""
USUAL = {
    "play_start.input_data": 0.8, "benchmark_start.configs": 0.8, "benchmark_set.runs": 0.7, "benchmark_set.workflow_sid": 0.8,
    "benchmark_measure.input_sets": 0.8, "workflow_set.text": 0.6, "workflow_set.definition": 0.5, "schedule_set.request": 0.8,
    "schedule_set.every_s": 0.6,
}  # fmt: skip
"""How often what may be left out is given all the same: without it the call comes to nothing."""
LONG = ("wait_s", "runs", "num_runs", "every_s", "webhook", "request")
DEEPEST = 6


class Noise:
    """One stream of bodies."""

    def __init__(self, seed: int, document: dict[str, Any]) -> None:
        self._random = Random(seed)
        self._methods = {method["name"]: method["params"] for method in document["methods"]}
        self._schemas = document["components"]["schemas"]
        self.learn({})

    def learn(self, known: Mapping[str, Sequence[str]]) -> None:
        """Words that mean something to the server, by parameter (`workflow_sid`) or group and parameter (`play.sid`)."""
        self._known = known
        self._words = (*(word for words in known.values() for word in words), *STRINGS)

    def body(self) -> bytes:
        """One request body."""
        kinds: list[tuple[int, Callable[[], bytes]]] = [
            (3, self._bytes),
            (5, lambda: self._json(self._any())),
            (12, self._damaged),
            (60, lambda: self._json(self._call())),
            (10, lambda: self._json(self._odd())),
            (10, lambda: self._json([self._one() for _ in range(self._random.choice((0, 1, 2, 5, 20)))])),
        ]
        return self._random.choices([make for _, make in kinds], [weight for weight, _ in kinds])[0]()

    def _one(self) -> Any:
        return self._random.choice((self._call, self._call, self._odd, self._any))()

    def _json(self, value: Any) -> bytes:
        """Now and then as no other program would write it."""
        text = json.dumps(value, ensure_ascii=self._random.random() < 0.5)
        return (text if self._random.random() < 0.95 else f" \n\t{text}\r\n ").encode("utf-8", "surrogatepass")

    def _bytes(self) -> bytes:
        return self._random.choice((*GARBAGE, self._random.randbytes(200)))

    def _damaged(self) -> bytes:
        """A good one with a few bytes changed, lost or doubled."""
        body = bytearray(self._json(self._call()))
        for _ in range(self._random.randint(1, 4)):
            at = self._random.randrange(len(body))
            how = self._random.random()
            if how < 0.4:
                body[at] = self._random.randrange(256)
            elif how < 0.7:
                del body[at : at + self._random.randint(1, 5)]
            else:
                body[at:at] = self._random.choice((b'"', b"{", b"]", b",", b"\\", b"\\u0000", b"\\ud800", b"null", b"-", b"1e9"))
            if not body:
                break
        return bytes(body)

    def _call(self) -> dict[str, Any]:
        """A call of an operation, with parameters that are right more often than not."""
        name = self._random.choice(list(self._methods))
        call: dict[str, Any] = {"jsonrpc": "2.0", "method": name, "params": self._params(name)}
        if self._random.random() < 0.9:
            call["id"] = self._random.choice((1, "x", None, 2.5, -7, 10**20))
        return call

    def _odd(self) -> dict[str, Any]:
        """Something about the call itself is wrong."""
        call = self._call()
        member = self._random.choice(("jsonrpc", "method", "params", "id"))
        if self._random.random() < 0.3:
            call.pop(member, None)
        else:
            call[member] = self._any()
        return call

    def _params(self, name: str) -> Any:
        given: dict[str, Any] = {}
        often = self._random.choice((0.0, 0.1, 0.4))
        for param in self._methods[name]:
            if self._random.random() < (0.97 if param["required"] else max(often, USUAL.get(f"{name}.{param['name']}", 0.0))):
                given[param["name"]] = self._field(name, param["name"], param["schema"])
        if self._random.random() < 0.03:
            given[self._random.choice(KEYS)] = self._any()
        return given

    def _field(self, method: str, name: str, schema: dict[str, Any]) -> Any:
        roll = self._random.random()
        known = self._known.get(f"{method.partition('_')[0]}.{name}") or self._known.get(name)
        good = GOOD.get(f"{method}.{name}") or GOOD.get(name)
        if good and (name in LONG or roll < 0.8):
            return self._random.choice(good)
        if known and roll < 0.85:
            return self._random.choice(known)
        return self._any() if roll > 0.95 else self._fitting(schema, 0)

    def _fitting(self, schema: Any, depth: int) -> Any:
        """A value that the schema might allow."""
        if not isinstance(schema, dict) or depth > DEEPEST:
            return self._any()
        if "$ref" in schema:
            return self._fitting(self._schemas[schema["$ref"].rpartition("/")[2]], depth + 1)
        if "anyOf" in schema:
            return self._fitting(self._random.choice(schema["anyOf"]), depth)
        if "enum" in schema:
            return self._random.choice(schema["enum"])
        return self._typed(schema, depth)

    def _typed(self, schema: dict[str, Any], depth: int) -> Any:
        kind = schema.get("type")
        if kind == "object":
            fields = {
                name: self._fitting(each, depth + 1) for name, each in schema.get("properties", {}).items() if self._random.random() < 0.7
            }
            more = schema.get("additionalProperties")
            names = self._random.sample(KEYS, self._random.randint(0, 2)) if isinstance(more, dict) else []
            return {**fields, **{name: self._fitting(more, depth + 1) for name in names}}
        if kind == "array":
            return [self._fitting(schema.get("items"), depth + 1) for _ in range(self._random.randint(0, 3))]
        makers: dict[Any, Callable[[], Any]] = {
            "string": lambda: self._random.choice(self._words),
            "integer": lambda: self._random.choice([number for number in NUMBERS if isinstance(number, int)]),
            "number": lambda: self._random.choice(NUMBERS),
            "boolean": lambda: self._random.random() < 0.5,
            "null": lambda: None,
        }
        return makers.get(kind, self._any)()

    def _any(self, depth: int = 0) -> Any:
        """Whatever JSON can hold."""
        roll = self._random.random()
        if depth < DEEPEST and roll < 0.15:
            return [self._any(depth + 1) for _ in range(self._random.randint(0, 4))]
        if depth < DEEPEST and roll < 0.3:
            return {self._random.choice(KEYS): self._any(depth + 1) for _ in range(self._random.randint(0, 4))}
        return self._random.choice((None, True, False, self._random.choice(NUMBERS), self._random.choice(self._words)))

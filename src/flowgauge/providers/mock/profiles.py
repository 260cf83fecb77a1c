"""Profiles of the mock provider: what it answers, how slowly, at what price, and how it fails.

A YAML file comes in (`FLOWGAUGE_MOCK_PROFILES` or an argument), profiles go out,
the built-in ones among them. Refuses a file with mistakes, listing all of them.

    profiles:
      support:
        like: default
        latency: {median_ms: 120, sigma: 0.4}
        price: {prompt_per_1m: 2.5, completion_per_1m: 10}
        answers:
          - {match: "refund", text: "Your refund is on its way."}
          - match: "weather"
            turns:
              - tool_calls: [{name: get_weather, arguments: {city: Paris}}]
              - text: "It is sunny."
        faults:
          - {kind: rate_limited, rate: 0.1, retry_after_s: 0.2}
          - {kind: server_error, first: 2}
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.documents.document import Document, Way, read_document
from flowgauge.errors import BadFile
from flowgauge.model.problem import Problem
from flowgauge.model.workflow import Json
from flowgauge.providers.parts import Mistakes, each

ENVIRONMENT = "FLOWGAUGE_MOCK_PROFILES"

Positive = Annotated[float, Meta(ge=0)]
Share = Annotated[float, Meta(ge=0, le=1)]
FaultKind = Literal["rate_limited", "server_error", "timeout", "malformed", "disconnect", "invalid_json", "truncated"]
"""malformed: the body of the response is not JSON. invalid_json: the model's own text is not."""


class _Part(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, forbid_unknown_fields=True):
    """Settings of every struct that a profile file declares."""


class Latency(_Part, frozen=True):
    """How long an answer takes; `first_token` is the share of it before a stream begins."""

    kind: Literal["lognormal", "fixed"] = "lognormal"
    median_ms: Positive = 30.0
    sigma: Positive = 0.25
    per_token_ms: Positive = 0.0
    first_token: Share = 0.3


class Price(_Part, frozen=True):
    """USD for a million tokens."""

    prompt_per_1m: Positive
    completion_per_1m: Positive
    cached_per_1m: Positive | None = None


class Fault(_Part, frozen=True):
    """One way to fail. Without a schedule it happens at its rate; `first`, `every` and `at` count the same request's repeats."""

    kind: FaultKind
    rate: Share | None = None
    first: Annotated[int, Meta(ge=1)] | None = None
    every: Annotated[int, Meta(ge=1)] | None = None
    at: tuple[Annotated[int, Meta(ge=1)], ...] = ()
    retry_after_s: Positive = 1.0
    hang_s: Positive = 30.0
    message: str = ""

    def due(self, occurrence: int) -> bool:
        """By schedule; the first time a request is made is occurrence 1."""
        if self.first is not None and occurrence <= self.first:
            return True
        if self.every is not None and occurrence % self.every == 0:
            return True
        return occurrence in self.at

    @property
    def by_chance(self) -> float:
        """The rate; 1 where neither rate nor schedule is given."""
        if self.rate is not None:
            return self.rate
        return 0.0 if self.first is not None or self.every is not None or self.at else 1.0


class ScriptedCall(_Part, frozen=True):
    """A tool that a scripted answer asks for."""

    name: str
    arguments: dict[str, Json] = {}


class Turn(_Part, frozen=True):
    """One scripted answer. Counts of tokens are estimated from the text where they are not given."""

    text: str = ""
    tool_calls: tuple[ScriptedCall, ...] = ()
    finish: Literal["stop", "length", "tool_calls", "content_filter"] | None = None
    tokens_prompt: Annotated[int, Meta(ge=0)] | None = None
    tokens_completion: Annotated[int, Meta(ge=0)] | None = None
    tokens_cached: Annotated[int, Meta(ge=0)] = 0


class Script(_Part, frozen=True):
    """Answers for requests that match: one `text`, or `turns` for successive answers of which the last stays."""

    match: str
    on: Literal["user", "system", "any"] = "user"
    text: str | None = None
    turns: tuple[Turn, ...] = ()

    def answer(self, turn: int) -> Turn:
        """The answer to the turn, counted from 0."""
        if not self.turns:
            return Turn(text=self.text or "")
        return self.turns[min(turn, len(self.turns) - 1)]


class Profile(_Part, frozen=True):
    """A whole character. Without a matching script the built-in answers speak."""

    answers: tuple[Script, ...] = ()
    latency: Latency = Latency()
    price: Price = Price(prompt_per_1m=0.15, completion_per_1m=0.60, cached_per_1m=0.075)
    faults: tuple[Fault, ...] = ()


class Override(_Part, frozen=True):
    """What `extra: {mock: …}` may change for one request."""

    latency: Latency | None = None
    latency_ms: Positive | None = None
    faults: tuple[Fault, ...] | None = None
    answer: str | Turn | None = None


_INSTANT = Latency(kind="fixed", median_ms=0.0)
BUILT_IN: Mapping[str, Profile] = {
    "default": Profile(),
    "fast": Profile(latency=_INSTANT),
    "slow": Profile(latency=Latency(median_ms=1500.0, sigma=0.5)),
    "flaky": Profile(
        faults=(
            Fault(kind="server_error", rate=0.08),
            Fault(kind="rate_limited", rate=0.05, retry_after_s=0.05),
            Fault(kind="malformed", rate=0.03),
            Fault(kind="truncated", rate=0.03),
            Fault(kind="timeout", rate=0.01, hang_s=1.0),
        ),
    ),
    "ratelimited": Profile(faults=(Fault(kind="rate_limited", first=2, retry_after_s=0.2),)),
    "broken": Profile(faults=(Fault(kind="server_error", message="The mock profile 'broken' always fails."),)),
    "expensive": Profile(
        latency=Latency(median_ms=80.0, sigma=0.35),
        price=Price(prompt_per_1m=15.0, completion_per_1m=75.0, cached_per_1m=1.5),
    ),
}


def load_profiles(path: str | Path | None = None) -> dict[str, Profile]:
    """The built-in profiles and those of a file, which may replace them."""
    chosen = path or os.environ.get(ENVIRONMENT)
    return {**BUILT_IN, **(_from_file(Path(chosen)) if chosen else {})}


def _from_file(path: Path) -> dict[str, Profile]:
    document = read_document(path)
    declared = document.value.get("profiles") if isinstance(document.value, dict) else None
    if not isinstance(declared, dict) or set(document.value) != {"profiles"}:
        raise BadFile(str(path), [Problem(1, "", "Expected one key, 'profiles', with a mapping of names.", "See docs: mock profiles.")])
    found: dict[str, Profile] = {}

    def read(way: Way, part: Json) -> None:
        name = str(way[-1])
        if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9._-]*", name):
            raise Mistakes([document.problem(way, f"{name!r} is no name for a profile.", "Use letters, digits, '.', '_' and '-'.")])
        found[name] = _profile(document, way, part, {**BUILT_IN, **found})

    each(document, ("profiles",), declared, read)
    return found


def _profile(document: Document, way: Way, part: Json, known: Mapping[str, Profile]) -> Profile:
    if not isinstance(part, dict):
        raise Mistakes([document.problem(way, "Expected a mapping.")])
    base = part.get("like", "default")
    if base not in known:
        raise Mistakes([document.problem((*way, "like"), f"No profile {base!r} before this one.", f"Known: {', '.join(known)}.")])
    types = {field.name: field.type for field in msgspec.structs.fields(Profile)}
    problems: list[Problem] = []
    values: dict[str, Any] = {}
    for key, value in part.items():
        if key in types:
            values[key] = _part(document, (*way, key), value, types[key], problems)
        elif key != "like":
            problems.append(document.problem((*way, key), "Unknown key.", f"Known: like, {', '.join(types)}."))
    if not problems:
        problems += _bad_patterns(document, way, values.get("answers", ()))
    if problems:
        raise Mistakes(problems)
    return msgspec.structs.replace(known[base], **values)


def _part(document: Document, way: Way, value: Json, wanted: Any, problems: list[Problem]) -> Any:
    """One field; of a list every item, so that each mistake is found."""
    if isinstance(value, list) and getattr(wanted, "__origin__", None) is tuple:
        return tuple(_part(document, (*way, index), item, wanted.__args__[0], problems) for index, item in enumerate(value))
    try:
        return msgspec.convert(value, wanted)
    except msgspec.ValidationError as error:
        message, _, below = str(error).partition(" - at `$")
        steps = [int(number) if number else key for key, number in re.findall(r"\.?([A-Za-z_]\w*)|\[(\d+)\]", below)]
        problems.append(document.problem((*way, *steps), f"{message}."))
        return None


def _bad_patterns(document: Document, way: Way, scripts: tuple[Script, ...]) -> list[Problem]:
    problems = []
    for index, script in enumerate(scripts):
        here = (*way, "answers", index)
        try:
            re.compile(script.match)
        except re.error as error:
            problems.append(document.problem((*here, "match"), f"Not a regular expression: {error}."))
        if (script.text is None) == (not script.turns):
            problems.append(document.problem(here, "Give either 'text' or 'turns'."))
    return problems

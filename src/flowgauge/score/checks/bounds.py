"""`latency`, `cost` and `tokens`: bounds on the answer's own numbers.

What was not measured is an error of the check: an unknown price is not below
any bound.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Annotated

from msgspec import Meta

from flowgauge.model.bench import Answer, CheckSpec
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.nodes.kind import Complaint
from flowgauge.score.check import PASSED, Check, Evidence, Finding, Measure, Options, wrong

Bound = Annotated[float, Meta(ge=0)] | None
Number = Callable[[Answer], float | None]


class LatencyOptions(Options, frozen=True, kw_only=True):
    """Bounds in milliseconds of the target's own time."""

    max_duration_ms: Bound = None
    max_first_token_ms: Bound = None


class CostOptions(Options, frozen=True, kw_only=True):
    """Bounds in USD."""

    max_cost_usd: Bound = None


class TokensOptions(Options, frozen=True, kw_only=True):
    """Bounds in tokens."""

    max_tokens: Bound = None
    max_tokens_prompt: Bound = None
    max_tokens_completion: Bound = None


NUMBERS: dict[str, Number] = {
    "max_duration_ms": lambda answer: answer.duration_ms,
    "max_first_token_ms": lambda answer: answer.first_token_ms,
    "max_cost_usd": lambda answer: answer.cost_usd,
    "max_tokens": lambda answer: answer.tokens_prompt + answer.tokens_completion,
    "max_tokens_prompt": lambda answer: answer.tokens_prompt,
    "max_tokens_completion": lambda answer: answer.tokens_completion,
}
_UNKNOWN = {
    "max_first_token_ms": "The target does not stream: there is no time to first token.",
    "max_cost_usd": "The cost is unknown: a model has no known price.",
}


def prepare(options: Options, _: Json) -> Measure:
    """Only the bounds that are set."""
    bounds = [(name, NUMBERS[name], bound) for name in options.__struct_fields__ if (bound := getattr(options, name)) is not None]

    def measure(_: Json, evidence: Evidence) -> Finding:
        broken = [words for name, number, bound in bounds if (words := _broken(name, number(evidence.answer), bound))]
        return wrong(" ".join(broken)) if broken else PASSED

    return measure


def _broken(name: str, number: float | None, bound: float) -> str:
    if number is None:
        raise fail("invalid_output", _UNKNOWN[name])
    return "" if number <= bound else f"{name.removeprefix('max_')} is {number:.12g}, more than {bound:.12g}."


def problems(_: CheckSpec, options: Options) -> Iterable[Complaint]:
    """At least one bound."""
    names = options.__struct_fields__
    if all(getattr(options, name) is None for name in names):
        yield Complaint("options", "No bound is given.", f"Give {' or '.join(names)}.")


def _row(options: type[Options], summary: str) -> Check:
    return Check(options=options, prepare=prepare, summary=summary, value="unused", looks=False, problems=problems)


LATENCY = _row(LatencyOptions, "The target's own time is within bounds.")
COST = _row(CostOptions, "What the target cost is within bounds.")
TOKENS = _row(TokensOptions, "What the target used is within bounds.")

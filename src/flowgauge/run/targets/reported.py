"""What a target says about its own run: tokens, cost, scores.

A target answers with any JSON value, which is its output, or with a report: an
object that has `output` and otherwise only keys of `Report`. An object with any
other key in it is an output like any other. What is not said is not known: a
cost that nobody names and no price table knows is None, not zero.
"""

from __future__ import annotations

from typing import Any

import msgspec

from flowgauge.model.bench import Answer
from flowgauge.model.play import CostSource
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.nodes.output import as_json
from flowgauge.run.targets.caller import Price


class Report(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a target may say besides its output."""

    output: Json
    tokens_prompt: int | None = None
    tokens_completion: int | None = None
    cost_usd: float | None = None
    model: str = ""
    """Its tokens are priced by our table where no cost is given."""
    first_token_ms: float | None = None
    retries: int = 0
    queue_ms: float = 0.0
    """Waiting of its own that is not the target's time: it is taken off the duration."""
    backoff_ms: float = 0.0
    scores: dict[str, float] = {}
    nodes: dict[str, Json] = {}
    """Outputs of its parts, which checks may name as nodes.…"""


KEYS = frozenset(Report.__struct_fields__)


class Timing(msgspec.Struct, frozen=True):
    """When a call was made, and how long it took."""

    started_at: int
    duration_ms: float
    queue_ms: float = 0.0


def is_report(value: Any) -> bool:
    """Does it have the shape of a report?"""
    return isinstance(value, dict) and "output" in value and value.keys() <= KEYS


def answer_of(value: Any, what: str, timing: Timing, price: Price | None = None) -> Answer:
    """The answer that a returned value is. Raises errors.Failed (invalid_output) for what JSON cannot hold."""
    plain = _plain(value, what)
    if not is_report(plain):
        return Answer(
            status="success",
            output=plain,
            started_at=timing.started_at,
            duration_ms=timing.duration_ms,
            queue_ms=timing.queue_ms,
            cost_usd=None,
            cost_source="unpriced",
        )
    return answer_of_report(read_report(plain, what), timing, price)


def read_report(plain: Json, what: str) -> Report:
    """A report from plain values."""
    try:
        return msgspec.convert(plain, Report)
    except msgspec.ValidationError as error:
        raise fail("invalid_output", f"{what} reports something that cannot be read: {error}.") from error


def answer_of_report(report: Report, timing: Timing, price: Price | None = None) -> Answer:
    """An answer with what the target said of itself."""
    cost_usd, cost_source = _cost(report, price)
    return Answer(
        status="success",
        output=report.output,
        nodes=report.nodes,
        started_at=timing.started_at,
        duration_ms=max(0.0, timing.duration_ms - report.queue_ms - report.backoff_ms),
        queue_ms=timing.queue_ms + report.queue_ms,
        backoff_ms=report.backoff_ms,
        first_token_ms=report.first_token_ms,
        retries=report.retries,
        tokens_prompt=report.tokens_prompt or 0,
        tokens_completion=report.tokens_completion or 0,
        cost_usd=cost_usd,
        cost_source=cost_source,
        model=report.model,
        scores=report.scores,
    )


def _cost(report: Report, price: Price | None) -> tuple[float | None, CostSource]:
    if report.cost_usd is not None:
        return report.cost_usd, "provider"
    counted = report.tokens_prompt is not None or report.tokens_completion is not None
    if price is not None and report.model and counted:
        cost_usd = price(report.model, report.tokens_prompt or 0, report.tokens_completion or 0)
        if cost_usd is not None:
            return cost_usd, "computed"
    return None, "unpriced"


def _plain(value: Any, what: str) -> Json:
    kind = type(value)
    if value is None or kind is bool or kind is int or (kind is str and value.isascii()):
        return value
    return as_json(value, what)


def config_of(overrides: dict[str, Json]) -> dict[str, Json]:
    """What a configuration hands to a target that is no workflow."""
    config = overrides.get("config")
    return config if isinstance(config, dict) else {}

"""Run adapters one after another; what one does wrong is its own outcome, and the others go on."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from flowgauge.errors import Failed, FlowgaugeError
from flowgauge.model.figure import Metric
from flowgauge.registry.adapter import Outcome, Skip, Status
from flowgauge.registry.answers import BadAnswer
from flowgauge.registry.child import AdapterFailed
from flowgauge.registry.discovery import Candidate

_MOST_WORDS = 500
_NO_METRICS: Mapping[str, Metric] = {}
Tell = Callable[[Outcome], None]


def run_adapters(candidates: Iterable[Candidate], tell: Tell | None = None, taken: Mapping[str, str] | None = None) -> tuple[Outcome, ...]:
    """In order, one at a time: figures of two that run at once would be figures of neither. `tell` hears each outcome.

    `taken`: metrics that others gave before, with who gave them.
    """
    outcomes: list[Outcome] = []
    given = dict(taken or {})
    for candidate in candidates:
        outcome = _unlike(_run(candidate), given)
        given.update(dict.fromkeys(outcome.metrics, outcome.adapter))
        outcomes.append(outcome)
        if tell is not None:
            tell(outcome)
    return tuple(outcomes)


def _run(candidate: Candidate) -> Outcome:
    described = candidate.description
    if described.missing:
        return _outcome(candidate, "skipped", described.missing)
    start = time.perf_counter()
    try:
        metrics = dict(candidate.run())
    except Skip as skip:
        return _outcome(candidate, "skipped", str(skip))
    except (AdapterFailed, BadAnswer, Failed, FlowgaugeError) as error:
        return _outcome(candidate, "error", str(error), start)
    except Exception as error:  # noqa: BLE001 - one adapter's fault must not stop the others, whatever it is
        return _outcome(candidate, "error", f"{type(error).__name__}: {error}", start)
    if not metrics:
        return _outcome(candidate, "error", "it measured nothing", start)
    return _outcome(candidate, "measured", "", start, metrics)


def _outcome(
    candidate: Candidate, status: Status, reason: str, start: float | None = None, metrics: Mapping[str, Metric] = _NO_METRICS
) -> Outcome:
    took = 0.0 if start is None else (time.perf_counter() - start) * 1000
    told = "".join(letter if letter.isprintable() else "\N{REPLACEMENT CHARACTER}" for letter in " ".join(reason.split()))[:_MOST_WORDS]
    described = candidate.description
    return Outcome(adapter=described.name, tier=described.tier, status=status, metrics=dict(metrics), reason=told, duration_ms=took)


def _unlike(outcome: Outcome, given: Mapping[str, str]) -> Outcome:
    """Two adapters cannot give the same metric: nobody could tell whose it is."""
    twice = next((name for name in outcome.metrics if name in given), None)
    if twice is None:
        return outcome
    reason = f"it gives {twice}, which {given[twice]} gave already; rename it"
    return Outcome(adapter=outcome.adapter, tier=outcome.tier, status="error", reason=reason, duration_ms=outcome.duration_ms)

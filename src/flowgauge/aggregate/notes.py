"""What a reader must know before believing the figures, in sentences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from flowgauge.aggregate.leads import Contender, quality_race
from flowgauge.aggregate.tally import NOT_MEASURED
from flowgauge.model.bench import BenchRecord
from flowgauge.model.workflow import Json


def notes_of(record: BenchRecord, contenders: list[Contender], agreed: Mapping[str, Mapping[str, Json]]) -> tuple[str, ...]:
    """In the order of weight; none where there is nothing to say."""
    done = sum(one.tally.runs for one in contenders)
    found: list[str] = []
    if done < record.total:
        found.append(f"Only {done} of {record.total} planned runs are in these figures.")
    for one in contenders:
        found.extend(_of(one))
    found.extend(_partly_scored(contenders))
    if done and all(one.tally.runs < 2 for one in contenders):
        found.append("One run has no spread: no lead can be significant. Use more runs.")
    found.extend(_closest(agreed))
    return tuple(found)


def _of(one: Contender) -> Iterator[str]:
    tally = one.tally
    if tally.unpriced:
        model = one.model or "model unknown"
        yield f"{one.name}: {tally.unpriced} of {tally.runs} runs have no known price ({model}); its cost is unknown, not the lowest."
    if tally.cost_unknown:
        yield (
            f"{one.name}: the cost of {tally.cost_unknown} of {tally.runs} runs is unknown: they failed before the target reported one; "
            "its cost figures are of the others."
        )
    if tally.judge_unpriced:
        yield f"{one.name}: {tally.judge_unpriced} of {tally.judge_calls} judged checks have no known price; its judges' cost is unknown."
    if tally.unmeasured:
        kinds = ", ".join(f"{kind} {count}" for kind, count in sorted(tally.failures.items()) if kind in NOT_MEASURED)
        yield f"{one.name}: {tally.unmeasured} of {tally.runs} runs say nothing about the target ({kinds})."
    if tally.cached:
        yield f"{one.name}: {tally.cached} of {tally.runs} runs were answered from the cache; their time is not a model's."
    if tally.repeated:
        yield f"{one.name}: {tally.repeated} outside calls were made again after a process died; what the lost ones cost is not counted."


def _partly_scored(contenders: list[Contender]) -> Iterator[str]:
    race = quality_race(contenders)
    for one in contenders:
        scored = race.known(one)
        if 0 < scored < one.tally.runs:
            yield f"{one.name}: quality is known of {scored} of {one.tally.runs} runs only."


def _closest(agreed: Mapping[str, Mapping[str, Json]]) -> Iterator[str]:
    """Who agrees most with gold, by alpha; only where there is something to choose from."""
    for check in sorted({check for checks in agreed.values() for check in checks}):
        ranked = sorted(
            (
                (checks[check]["alpha"], config)
                for config, checks in agreed.items()
                if check in checks and checks[check]["alpha"] is not None
            ),
            key=lambda pair: (-pair[0], pair[1]),
        )
        if len(ranked) > 1:
            (first, config), (second, other) = ranked[0], ranked[1]
            yield f"{check}: closest to gold is {config} (alpha {first:.2f}), then {other} ({second:.2f})."

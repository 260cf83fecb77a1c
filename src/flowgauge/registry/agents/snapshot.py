"""A snapshot of an agent: what was known of it when something changed.

Four sections. What is not known is null, never 0. Times are seconds, rates go
from 0 to 1. Refuses numbers that are not finite, rates beyond their range, and
fields that do not exist.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from flowgauge.errors import UsageError
from flowgauge.model.verdict import Trending
from flowgauge.registry.agents.triggers import Trigger

Share = Annotated[float, Meta(ge=0, le=1)]
Count = Annotated[int, Meta(ge=0)]
Seconds = Annotated[float, Meta(ge=0)]
MOST_NAMES = 1000
LONGEST_TEXT = 10_000


class RecipeMetrics(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How the agent's actions fare. Of a workflow they are its nodes."""

    action_count: Count | None = None
    total_expected_duration: Seconds | None = None
    """Seconds: the mean times of its actions, summed."""
    success_rates: Annotated[dict[str, Share | None], Meta(max_length=MOST_NAMES)] = {}
    """By action; null for one that did not run."""
    dead_ends: Count | None = None
    """Actions that were tried, or passed over, and never succeeded."""
    effective_fallbacks: Count | None = None
    """Actions that failed at first and then succeeded."""


class LightningMetrics(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What running it brought. Of a workflow a play that succeeded has a reward of 1, any other of 0."""

    avg_reward: float | None = None
    total_reward: float | None = None
    reward_trend: Trending | None = None
    execution_count: Count | None = None
    error_rate: Share | None = None
    avg_duration: Seconds | None = None
    """Seconds, of those that succeeded."""


class TrustEvolution(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """How far it has come. Of a workflow only the generation is known: the number of its version."""

    composite_trust_score: float | None = None
    generation: Count | None = None
    specialization_path: Annotated[str, Meta(max_length=LONGEST_TEXT)] | None = None
    evolution_xp: float | None = None


BenchmarkMetrics = Annotated[dict[str, float | None], Meta(max_length=MOST_NAMES)]
"""By name. `pass_rate` and what ends in `_pass_rate` is judged, and goes from 0 to 1."""


class Sections(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """What somebody hands in; null: not handed in."""

    recipe_metrics: RecipeMetrics | None = None
    lightning_metrics: LightningMetrics | None = None
    benchmark_metrics: BenchmarkMetrics | None = None
    trust_evolution: TrustEvolution | None = None

    @property
    def given(self) -> tuple[str, ...]:
        """The names of those that were."""
        return tuple(name for name in self.__struct_fields__ if getattr(self, name) is not None)


class Source(msgspec.Struct, frozen=True, kw_only=True):
    """What the sections were made of."""

    workflow_sid: str = ""
    """Empty: the agent is no stored workflow."""
    version_sid: str = ""
    plays: int = 0
    last_play: str = ""
    """The sid of the play that ended last; of a capture, whichever version of the workflow it ran."""
    last_play_at: int = 0
    """When it ended, in ms since 1970."""
    benchmarks: dict[str, int] = {}
    """By sid: how many runs it counts."""
    posted: tuple[str, ...] = ()
    """Sections that were handed in."""


class Facts(msgspec.Struct, frozen=True, kw_only=True):
    """All four sections, as they stand now."""

    recipe_metrics: RecipeMetrics = RecipeMetrics()
    lightning_metrics: LightningMetrics = LightningMetrics()
    benchmark_metrics: dict[str, float | None] = {}
    trust_evolution: TrustEvolution = TrustEvolution()
    source: Source = Source()


class AgentSnapshot(msgspec.Struct, frozen=True, kw_only=True):
    """One version of an agent's baseline, as its file holds it."""

    version: Annotated[int, Meta(ge=1)]
    trigger: Trigger
    timestamp: str
    """UTC, ISO 8601."""
    user_id: str = ""
    recipe_metrics: RecipeMetrics = RecipeMetrics()
    lightning_metrics: LightningMetrics = LightningMetrics()
    benchmark_metrics: dict[str, float | None] = {}
    trust_evolution: TrustEvolution = TrustEvolution()
    prompt_id: str
    flow_id: str
    user_prompt: str = ""
    regressed: bool = False
    """Kept as evidence; never the baseline."""
    baseline_version: int | None = None
    """Of evidence: what it was held against."""
    regressions: tuple[str, ...] = ()
    """Of evidence: what was found, in words."""
    source: Source = Source()

    @property
    def facts(self) -> Facts:
        """What it says of the agent."""
        return Facts(**{name: getattr(self, name) for name in Facts.__struct_fields__})


Health = Literal["passed", "failed", "not_measured"]


def is_pass_rate(name: str) -> bool:
    """Is this benchmark metric one that is judged?"""
    return name == "pass_rate" or name.endswith("_pass_rate")


def read_sections(value: Any) -> Sections:
    """Of plain values, or as they are. Raises UsageError with the first thing that is wrong and its place."""
    plain = msgspec.to_builtins(value) if isinstance(value, Sections) else value
    try:
        found = msgspec.convert(plain, Sections)
    except msgspec.ValidationError as error:
        raise UsageError(f"The sections do not fit: {error}.", remedy=f"Sections: {', '.join(Sections.__struct_fields__)}.") from error
    for place, number in _numbers(msgspec.to_builtins(found), ""):
        if not math.isfinite(number):
            raise UsageError(f"{place} of the sections is no finite number.", remedy="Write null for what is not known.")
    for name, rate in (found.benchmark_metrics or {}).items():
        if is_pass_rate(name) and rate is not None and not 0 <= rate <= 1:
            raise UsageError(f"The pass rate {name} is {rate:g}.", remedy="A rate goes from 0 to 1.")
    return found


def _numbers(value: Any, place: str) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for name, inner in value.items():
            yield from _numbers(inner, f"{place}.{name}".removeprefix("."))
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield place, value

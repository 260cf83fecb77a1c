"""Comparisons, gates and trends as `compare` hands them to a report: realistic values, and adversarial ones."""

from __future__ import annotations

import math
import random
from typing import Literal

import msgspec
from tests.report.bench_examples import NASTY, START

from flowgauge.model.benchmark import Interval, Rate
from flowgauge.model.verdict import (
    AggregateRates,
    CategoryDrift,
    ChangePoint,
    Comparison,
    Difference,
    Estimate,
    GateLine,
    GateResult,
    GateStatus,
    MetricVerdict,
    NodeShift,
    RateVerdict,
    Tier,
    Trend,
    TrendPoint,
)
from flowgauge.stats.intervals import wilson

DAY_MS = 86_400_000
COMMIT = "4c0ffee1d2a9b8c7e6f5a4b3c2d1e0f9a8b7c6d5"
BASELINE_COMMIT = "1badb002f00dfeedfacecafedeadbeefc0ffee00"


def rate(count: int, total: int) -> Rate:
    low, high = wilson(count, total)
    return Rate(count, total, count / total if total else None, Interval(low, high))


def rate_verdict(
    key: str, tier: Tier, candidate: tuple[int, int], baseline: tuple[int, int], p: float | None, lost: int = 0
) -> RateVerdict:
    """`lost`: runs of the candidate that failed for reasons of the infrastructure."""
    mine, theirs = rate(*candidate), rate(*baseline)
    failed = candidate[1] - candidate[0]
    return RateVerdict(
        key=key,
        tier=tier,
        candidate=mine,
        baseline=theirs,
        candidate_all=rate(candidate[0], candidate[1] + lost),
        baseline_all=theirs,
        delta=None if mine.value is None or theirs.value is None else mine.value - theirs.value,
        p_value=p,
        failed_runs=tuple(f"run_{key.replace('/', '')[:6]}{index:02d}" for index in range(failed)),
        failures={"wrong_answer": failed} if failed else {},
    )


RATES = (
    rate_verdict("triage.json/refund request", "hard_regression", (0, 3), (3, 3), 0.05),
    rate_verdict("triage.json/angry customer", "soft_regression", (1, 3), (3, 3), 0.2),
    rate_verdict("routing.json/two languages", "improvement", (5, 5), (1, 5), 0.0238),
    rate_verdict("routing.json/long thread", "watch", (2, 3), (3, 3), 0.5, lost=1),
    rate_verdict("routing.json/no subject", "unreliable_baseline", (0, 8), (5, 8), 0.0128),
    *(rate_verdict(f"stable.json/case {index}", "stable", (5, 5), (5, 5), 1.0) for index in range(12)),
    rate_verdict("stable.json/never ran", "insufficient_data", (0, 0), (5, 5), None),
)

DURATION = MetricVerdict(
    metric="duration_ms",
    direction="lower",
    unit="ms",
    verdict="regressed",
    candidate=Estimate(value=1213.4, n=90, cases=18),
    baseline=Estimate(value=1002.1, n=90, cases=18),
    ratio=1.211,
    interval=Interval(1.148, 1.277),
    p_harm=0.00002,
    p_harmless=0.9999,
    p_better=1.0,
    p_adjusted=0.00008,
    method="paired by case, 18 cases, errors clustered by case",
)
COST = MetricVerdict(
    metric="cost_usd",
    direction="lower",
    unit="USD",
    verdict="inconclusive",
    candidate=Estimate(value=0.00214, n=90, cases=18),
    baseline=Estimate(value=0.00203, n=90, cases=18),
    ratio=1.054,
    interval=Interval(0.971, 1.144),
    p_harm=0.46,
    p_harmless=0.54,
    p_better=0.89,
    p_adjusted=0.61,
    method="paired by case, 18 cases, errors clustered by case",
    runs_needed=240,
)
SCORE = MetricVerdict(
    metric="score.tone",
    direction="higher",
    unit="",
    verdict="improved",
    candidate=Estimate(value=0.871, n=90, cases=18),
    baseline=Estimate(value=0.793, n=90, cases=18),
    ratio=1.098,
    interval=Interval(1.061, 1.137),
    p_harm=1.0,
    p_harmless=0.0001,
    p_better=0.0012,
    p_adjusted=1.0,
    method="paired by case, 18 cases, errors clustered by case",
)
TOKENS = MetricVerdict(
    metric="tokens_completion",
    direction="lower",
    unit="tokens",
    verdict="unchanged",
    candidate=Estimate(value=412.0, n=90, cases=18),
    baseline=Estimate(value=414.6, n=90, cases=18),
    ratio=0.9937,
    interval=Interval(0.981, 1.0066),
    p_harm=0.99,
    p_harmless=0.0001,
    p_better=0.31,
    p_adjusted=0.99,
    method="paired by case, 18 cases, errors clustered by case",
)
FIRST_TOKEN = MetricVerdict(
    metric="first_token_ms",
    direction="lower",
    unit="ms",
    verdict="vanished",
    candidate=Estimate(value=None, n=0),
    baseline=Estimate(value=231.0, n=90, cases=18),
    reason="The candidate does not stream.",
)
NODES = (
    NodeShift(
        node_id="classify", baseline_ms=611.0, candidate_ms=795.3, delta_ms=184.3, share=0.872, ratio=1.302,
        interval=Interval(1.21, 1.4), significant=True,
    ),
    NodeShift(node_id="audit", baseline_ms=None, candidate_ms=27.1, delta_ms=27.1, share=0.128),
    NodeShift(
        node_id="summarise", baseline_ms=380.0, candidate_ms=371.9, delta_ms=-8.1, share=1.0, ratio=0.979, interval=Interval(0.93, 1.03)
    ),
)  # fmt: skip
PRICES = Difference("price_table", "genai-prices 0.0.31", "genai-prices 0.0.30", "Cost may have moved because a price did.")


def comparison(**more: object) -> Comparison:
    """Slower by one node, dearer perhaps, and one case that broke."""
    found = Comparison(
        attempt="ok",
        candidate="triage-3fa9c1-2 mini",
        baseline="main",
        candidate_sid="bm_0194aa",
        baseline_sid="bm_0193c2",
        candidate_commit=COMMIT,
        baseline_commit=BASELINE_COMMIT,
        aggregate=aggregate(RATES, "watch", 0.0508),
        rates=RATES,
        only_candidate=("new.json/attachment",),
        only_baseline=("old.json/fax",),
        drift=(CategoryDrift(category="wrong_answer", candidate=rate(19, 85), baseline=rate(7, 87), expected=6.8),),
        metrics=(SCORE, DURATION, TOKENS, COST),
        nodes=NODES,
        differences=(PRICES,),
        candidate_infrastructure=rate(1, 88),
        baseline_infrastructure=rate(0, 87),
        notes=("Samples of the baseline are 12 days old.",),
    )  # fmt: skip
    return msgspec.structs.replace(found, **more)


def aggregate(rates: tuple[RateVerdict, ...], tier: Tier, p: float | None) -> AggregateRates:
    """Summed up from cases."""
    sides = [rate(sum(getattr(one, side).count for one in rates), sum(getattr(one, side).total for one in rates)) for side in SIDES]
    mine, theirs, mine_all, theirs_all = sides
    delta = None if mine.value is None or theirs.value is None else mine.value - theirs.value
    return AggregateRates(
        tier=tier, candidate=mine, baseline=theirs, candidate_all=mine_all, baseline_all=theirs_all, delta=delta, p_value=p
    )  # fmt: skip


SIDES = ("candidate", "baseline", "candidate_all", "baseline_all")


def line(subject: str, status: GateStatus, rule: str, verdict: str, words: str) -> GateLine:
    return GateLine(subject=subject, status=status, rule=rule, verdict=verdict, words=words)


LINES = (
    line("score.tone", "passed", "detect", "improved", "0.871 against 0.793, ratio 1.098 (1.061 to 1.137)."),
    line("duration_ms", "failed", "detect", "regressed", "1.21 s against 1 s, ratio 1.211 (1.148 to 1.277), beyond the tolerance of 5 %."),
    line("cost_usd", "passed", "detect", "inconclusive", "ratio 1.054 (0.971 to 1.144); about 240 runs a side would decide it."),
    line("tokens_completion", "passed", "detect", "unchanged", "412 against 415."),
    line("pass rate of triage.json/refund request", "failed", "tiers", "hard_regression", "0 of 3 against 3 of 3, p = 0.05."),
    line("p95_ms <= 2000", "passed", "limit", "within", "1.64 s, the limit is 2 s."),
)


def gate(
    status: GateStatus = "failed", lines: tuple[GateLine, ...] = LINES, found: Comparison | None = None, policy: str = "gate.yaml"
) -> GateResult:
    codes: dict[GateStatus, Literal[0, 1, 3]] = {"passed": 0, "failed": 1, "not_measured": 3}
    return GateResult(status=status, exit_code=codes[status], lines=lines, comparison=found or comparison(), policy=policy)


def failed() -> GateResult:
    """One node slower, one case broken."""
    return gate()


def price_changed() -> GateResult:
    """Only the price of the model changed: cost regressed, latency did not."""
    cost = msgspec.structs.replace(COST, verdict="regressed", ratio=2.0, interval=Interval(1.97, 2.03), p_adjusted=1e-9, runs_needed=None)
    same = msgspec.structs.replace(DURATION, verdict="unchanged", ratio=1.002, interval=Interval(0.991, 1.013), p_adjusted=0.97)
    found = comparison(metrics=(cost, same), rates=RATES[5:], aggregate=aggregate(RATES[5:], "stable", 1.0), nodes=(), drift=())
    told = "$0.0041 against $0.0020, ratio 2 (1.97 to 2.03)."
    return gate("failed", (line("cost_usd", "failed", "detect", "regressed", told),), found)


def better() -> GateResult:
    """Nothing is worse, something is better."""
    found = comparison(
        metrics=(SCORE, TOKENS),
        rates=(RATES[2], *RATES[5:]),
        aggregate=aggregate((RATES[2], *RATES[5:]), "stable", 0.06),
        nodes=(),
        drift=(),
        differences=(),
        notes=(),
    )
    return gate("passed", (LINES[0], LINES[3], LINES[5]), found)


def open_ended() -> GateResult:
    """Let through under `detect`, yet one metric is inconclusive."""
    found = comparison(
        metrics=(COST, TOKENS), rates=RATES[5:], aggregate=aggregate(RATES[5:], "stable", 1.0), nodes=(), drift=(), differences=(), notes=()
    )
    return gate("passed", (LINES[2], LINES[3]), found)


def quiet() -> GateResult:
    """Nothing moved."""
    found = comparison(
        metrics=(TOKENS,),
        rates=RATES[5:17],
        aggregate=aggregate(RATES[5:17], "stable", 1.0),
        nodes=(),
        drift=(),
        differences=(),
        notes=(),
        only_candidate=(),
        only_baseline=(),
    )
    return gate("passed", (LINES[3], LINES[5]), found)


def not_measured() -> GateResult:
    """Every call was answered by 429."""
    lost = tuple(rate_verdict(one.key, "insufficient_data", (0, 0), (5, 5), None, lost=5) for one in RATES[:4])
    found = comparison(
        aggregate=aggregate(lost, "insufficient_data", None), rates=lost, metrics=(), nodes=(), drift=(), differences=(),
        only_candidate=(), only_baseline=(), candidate_infrastructure=rate(90, 90), notes=(),
    )  # fmt: skip
    told = "All 90 runs failed for reasons of the infrastructure (rate_limited 90): nothing is known about the candidate."
    return gate("not_measured", (line("infrastructure", "not_measured", "at most 5 %", "rate_limited", told),), found)


def no_baseline() -> Comparison:
    """A first run."""
    return Comparison(attempt="no_baseline", candidate="triage-3fa9c1-1 mini", reason="no baseline is called 'main'")


def nasty() -> GateResult:
    """Adversarial text in every place that a model, a file or a user can write to."""
    rates = tuple(rate_verdict(text, one.tier, (0, 3), (3, 3), 0.05) for text, one in zip(NASTY, RATES, strict=False))
    rates = tuple(msgspec.structs.replace(one, failed_runs=NASTY, failures={NASTY[0]: 3}) for one in rates)
    metrics = tuple(
        msgspec.structs.replace(one, metric=text, unit=NASTY[1], method=NASTY[4], reason=NASTY[5])
        for text, one in zip(NASTY, (DURATION, COST, SCORE, TOKENS, FIRST_TOKEN), strict=False)
    )
    found = comparison(
        candidate=NASTY[0], baseline=NASTY[4], candidate_sid=NASTY[1], candidate_commit=NASTY[4], reason=NASTY[5], rates=rates,
        only_candidate=NASTY, only_baseline=NASTY, metrics=metrics,
        drift=tuple(msgspec.structs.replace(comparison().drift[0], category=text) for text in NASTY),
        nodes=tuple(msgspec.structs.replace(NODES[0], node_id=text) for text in NASTY),
        differences=tuple(Difference(text, text, text, text) for text in NASTY), notes=NASTY,
    )  # fmt: skip
    statuses: tuple[GateStatus, ...] = ("failed", "passed", "not_measured", "failed", "passed", "not_measured")
    lines = tuple(line(text, status, text, text, text) for text, status in zip(NASTY, statuses, strict=True))
    return gate("failed", lines, found, policy=NASTY[4])


def huge(cases: int = 4000) -> GateResult:
    """More regressions than a comment can hold."""
    rates = tuple(
        rate_verdict(f"suite_{index // 50}.json/scenario number {index}", "hard_regression", (0, 3), (3, 3), 0.05) for index in range(cases)
    )
    lines = tuple(
        line(f"pass rate of {one.key}", "failed", "tiers", "hard_regression", "0 of 3 against 3 of 3, p = 0.05.") for one in rates
    )
    return gate("failed", lines, comparison(rates=rates))


def distributions(samples: int = 90) -> dict[str, tuple[list[float], list[float]]]:
    """What the metrics of `comparison` may have been made of."""
    chance = random.Random(11)

    def drawn(middle: float, spread: float) -> list[float]:
        return [chance.lognormvariate(math.log(middle), spread) for _ in range(samples)]

    return {
        "duration_ms": (drawn(1150, 0.3), drawn(950, 0.3)),
        "cost_usd": (drawn(0.0021, 0.35), drawn(0.0020, 0.35)),
        "score.tone": ([chance.betavariate(18, 3) for _ in range(samples)], [chance.betavariate(14, 4) for _ in range(samples)]),
        "tokens_completion": (drawn(405, 0.12), drawn(408, 0.12)),
    }


STEP, DRIFT = 11, (19, 27)
"""Where the level of `trend` jumps, and from where to where it creeps; counted from 0."""


def trend(**more: object) -> Trend:
    """30 versions: one step at v12, one drift from v20 to v28."""
    chance = random.Random(5)
    points = []
    for index in range(30):
        level = 400.0 if index < STEP else 484.0
        level += 9.0 * max(0, min(index, DRIFT[1]) - DRIFT[0])
        value = level * chance.gauss(1, 0.012)
        points.append(
            TrendPoint(
                benchmark_sid=f"bm_{index:04x}", label=f"v{index + 1}", created_at=START + index * DAY_MS, value=value,
                interval=Interval(value * 0.97, value * 1.03), commit=f"{index + 10:02x}c1234567", version=index + 1,
            )
        )  # fmt: skip
    changes = (
        ChangePoint(index=STEP, label="v12", commit="15c1234567", kind="step", before=400.2, after=484.5, change=0.2106,
            harmful=True, p_value=1e-6),
        ChangePoint(
            index=DRIFT[0], label="v20", commit="1dc1234567", kind="drift", before=484.0, after=556.0, change=0.1488, until_index=DRIFT[1],
            harmful=True, p_value=0.0004,
        ),
    )  # fmt: skip
    first, last = points[0].value, points[-1].value
    assert first is not None and last is not None
    found = Trend(
        subject="ticket-triage mini", metric="duration_ms", direction="lower", unit="ms", trend="declining", change=last / first - 1,
        points=tuple(points), changes=changes, notes=("Versions 1 to 30 ran on one machine.",),
    )  # fmt: skip
    return msgspec.structs.replace(found, **more)


def gappy_trend() -> Trend:
    """A score with values that are not known, and no change."""
    points = tuple(
        TrendPoint(benchmark_sid=f"bm_{index}", label=f"v{index + 1}", created_at=START + index * DAY_MS, value=None if index == 2 else 0.8)
        for index in range(5)
    )
    return Trend(subject="ticket-triage mini", metric="score.tone", direction="higher", unit="", trend="stable", change=0.0, points=points)


def short_trend() -> Trend:
    """One benchmark only."""
    whole = trend()
    return msgspec.structs.replace(whole, points=whole.points[:1], changes=(), trend="insufficient_data", change=None, notes=())


def nasty_trend() -> Trend:
    """Adversarial text in every place."""
    whole = trend()
    points = tuple(msgspec.structs.replace(one, label=NASTY[index % len(NASTY)], commit=NASTY[4]) for index, one in enumerate(whole.points))
    changes = tuple(msgspec.structs.replace(one, label=NASTY[0], commit=NASTY[1]) for one in whole.changes)
    return msgspec.structs.replace(whole, subject=NASTY[0], metric=NASTY[4], unit=NASTY[1], points=points, changes=changes, notes=NASTY)

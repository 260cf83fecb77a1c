"""Benches as a store would hand them to a report: trials made from a seed, and the summary of those trials."""

from __future__ import annotations

import functools
import math
import random
from collections.abc import Callable, Iterator, Sequence

import msgspec

from flowgauge.aggregate.rows import NodeRow, trial_row
from flowgauge.aggregate.summary import summarise
from flowgauge.model.bench import Answer, Bench, BenchRecord, Case, CheckResult, Configuration, Target, Trial
from flowgauge.model.benchmark import BenchSummary
from flowgauge.model.play import Failure

START = 1_767_225_600_000
CASES = (
    Case(name="short", inputs={"ticket": "I was charged twice"}, expected={"label": "billing"}),
    Case(name="long", inputs={"ticket": "The app crashes when I open it. " * 8}, expected={"label": "technical"}),
)
Make = Callable[[random.Random, int, str, str, int], Trial]


def trial(position: int, config: str, case: str, repetition: int, answer: Answer, **more: object) -> Trial:
    return msgspec.structs.replace(
        Trial(run_id=f"run_{position:06x}", position=position, config=config, case=case, repetition=repetition, answer=answer), **more
    )


def answered(chance: random.Random, position: int, config: str, case: str, repetition: int) -> Trial:
    """A priced model that is mostly right."""
    slow = config.endswith("sonnet")
    right = chance.random() < (0.97 if slow else 0.85)
    label = CASES[0].expected["label"] if case == "short" else "technical"
    duration_ms = chance.lognormvariate(math.log(900 if slow else 380), 0.35)
    answer = Answer(
        status="success",
        output={"label": label if right else "general"},
        started_at=START + position * 40,
        duration_ms=duration_ms,
        queue_ms=2.5,
        first_token_ms=duration_ms * 0.4,
        tokens_prompt=140 if case == "long" else 60,
        tokens_completion=chance.randint(8, 24),
        cost_usd=0.0021 if slow else 0.00011,
        cost_source="computed",
        model="claude-sonnet-4-6" if slow else "gpt-4o-mini",
    )
    check = CheckResult(name="label is right", type="equals", passed=right, reason="" if right else f"expected {label!r}, got 'general'")
    score = round(chance.uniform(0.7, 1.0) if right else chance.uniform(0.1, 0.5), 3)
    checks = (check, CheckResult(name="tone", type="judge", score=score, votes=(score,)))
    return trial(
        position, config, case, repetition, answer, passed=right, failure_category="" if right else "wrong_answer",
        scores={"tone": score}, checks=checks,
    )  # fmt: skip


def always_failing(_chance: random.Random, position: int, config: str, case: str, repetition: int) -> Trial:
    error = Failure(kind="code_error", message="KeyError: 'label' | <b>not</b> `here`\nsecond line", node_id="clean", detail="Traceback …")
    answer = Answer(status="failed", error=error, duration_ms=3.0, started_at=START + position * 40, model="gpt-4o-mini")
    return trial(position, config, case, repetition, answer, failure_category="code_error")


def unpriced(chance: random.Random, position: int, config: str, case: str, repetition: int) -> Trial:
    one = answered(chance, position, config, case, repetition)
    answer = msgspec.structs.replace(one.answer, cost_usd=None, cost_source="unpriced", model="house-model-7b")
    return msgspec.structs.replace(one, answer=answer)


def rate_limited(chance: random.Random, position: int, config: str, case: str, repetition: int) -> Trial:
    if repetition % 2 == 0:
        one = answered(chance, position, config, case, repetition)
        return msgspec.structs.replace(one, answer=msgspec.structs.replace(one.answer, retries=2, backoff_ms=2000.0))
    error = Failure(kind="rate_limited", message="429 Too Many Requests, Retry-After: 30", retry_after_s=30.0, node_id="classify")
    answer = Answer(status="failed", error=error, duration_ms=11.0, retries=3, backoff_ms=4000.0, started_at=START, model="gpt-4o-mini")
    return trial(position, config, case, repetition, answer, failure_category="rate_limited")


def made(configs: dict[str, Make], runs: int, cases: Sequence[Case] = CASES) -> list[Trial]:
    chance = random.Random(7)
    trials: list[Trial] = []
    for repetition in range(runs):
        for case in cases:
            for name, make in configs.items():
                trials.append(make(chance, len(trials), name, case.name, repetition))
    return trials


def summary_of(trials: Sequence[Trial], cases: Sequence[Case] = CASES, name: str = "classifier-shootout") -> BenchSummary:
    """By the product's own aggregation; each trial is one node, with a person's opinion of the tone."""
    names = list(dict.fromkeys(one.config for one in trials))
    nodes = (
        NodeRow(
            config=one.config, node_id="classify", attempt=1, status=one.answer.status, duration_ms=one.answer.duration_ms,
            tokens_prompt=one.answer.tokens_prompt, tokens_completion=one.answer.tokens_completion, cost_usd=one.answer.cost_usd,
            cost_source=one.answer.cost_source, failure_kind=one.answer.error.kind if one.answer.error else None,
        )
        for one in trials
    )  # fmt: skip
    # Intervals of agreement are resampled: of 10,000 pairs that takes most of a minute, and no report reads them differently.
    gold = {"tone": {case.name: index / len(cases) for index, case in enumerate(cases)}} if len(trials) < 1000 else {}
    return summarise(record(trials, names, cases, name), map(trial_row, trials), nodes, gold=gold)


def record(trials: Sequence[Trial], names: Sequence[str], cases: Sequence[Case], name: str) -> BenchRecord:
    definition = Bench(
        name=name,
        target=Target(kind="workflow", reference="wv_0193c", name="ticket-triage", content="abc"),
        configs=tuple(Configuration(name=one) for one in names),
        cases=tuple(cases),
        runs=max(one.repetition for one in trials) + 1,
    )
    return BenchRecord(
        uid="0f1e", bench_id=f"{name}-3fa9c1-1", name=name, definition_hash="3fa9c1" * 5, counter=1, status="finished",
        definition=definition, total=len(trials), created_at=START, finished_at=START + 12_300, duration_ms=12_300.0,
        commit="4c0ffee", machine="linux-x86_64-2", price_table="genai-prices 0.0.30",
    )  # fmt: skip


SMALL: dict[str, Make] = {"mini": answered, "broken": always_failing, "house": unpriced, "crowded": rate_limited}


class Example(msgspec.Struct):
    """A summary and its trials; `reads` counts how often they were read."""

    summary: BenchSummary
    all: list[Trial]
    reads: int = 0

    def trials(self) -> Iterator[Trial]:
        self.reads += 1
        return iter(self.all)


def once(make: Callable[[], Example]) -> Callable[[], Example]:
    """Made once; each caller gets its own list and count."""
    made_once = functools.cache(make)
    return lambda: Example(made_once().summary, list(made_once().all))


@once
def small() -> Example:
    """Four configurations × 2 cases × 5 runs: one always fails, one is unpriced, one is rate limited."""
    trials = made(SMALL, 5)
    return Example(summary_of(trials), trials)


@once
def large() -> Example:
    """10,000 trials of two configurations on two cases."""
    trials = made({"mini": answered, "sonnet": answered}, 2500)
    return Example(summary_of(trials), trials)


NASTY = (
    "</script><script>document.title='owned'</script>",
    "<img src=x onerror=\"document.title='owned'\">",
    "<!-- <script> --> ]]> & &lt; \u2028 \u2029",
    '=HYPERLINK("http://evil.example","click")',
    "| a | b |\n|---|---|\n```\n![x](http://evil.example/x.png) @everyone",
    "bell \x07 escape \x1b[31m null \x00 end \ufffe",
)


@once
def nasty() -> Example:
    """Adversarial text in every place that a model or a user can write to."""

    def make(chance: random.Random, position: int, config: str, case: str, repetition: int) -> Trial:
        text = NASTY[position % len(NASTY)]
        one = answered(chance, position, config, case, repetition)
        check = CheckResult(name=NASTY[0], type="judge", passed=position % 2 == 0, score=0.5, reason=text)
        answer = msgspec.structs.replace(one.answer, output=text, model=NASTY[1])
        if position % 5 == 4:
            answer = Answer(status="failed", error=Failure(kind="code_error", message=text, node_id=NASTY[1], detail=text))
        category = "code_error" if answer.error else "wrong_answer" if position % 2 else ""
        return msgspec.structs.replace(one, answer=answer, checks=(check,), failure_category=category, passed=position % 2 == 0)

    cases = tuple(Case(name=f"case {index} {text}", inputs={text: text}) for index, text in enumerate(NASTY))
    trials = made(dict.fromkeys(NASTY, make), 3, cases)
    return Example(summary_of(trials, cases, name=NASTY[0]), trials)

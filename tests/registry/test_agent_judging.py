from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.errors import UsageError
from flowgauge.registry.agents.agent import agent_called, agent_in, agent_of, agent_spelled
from flowgauge.registry.agents.changes import compared, trend_of
from flowgauge.registry.agents.measuring import AttemptRow, BenchRow, PlayRow, benchmark_metrics, lightning_metrics, recipe_metrics
from flowgauge.registry.agents.snapshot import AgentSnapshot, Facts, LightningMetrics, RecipeMetrics, read_sections
from flowgauge.registry.agents.triggers import TRIGGERS, Trigger, check_trigger, is_quiet
from flowgauge.registry.agents.validation import judge

IDS = st.text(min_size=1, max_size=12).filter(lambda name: name.isprintable() and name == name.strip())


def snapshot(version: int = 1, **fields: Any) -> AgentSnapshot:
    ordinary: dict[str, Any] = {"trigger": "creation", "timestamp": "2026-02-24T12:00:00.000Z", "prompt_id": "p", "flow_id": "f"}
    return AgentSnapshot(version=version, **ordinary | fields)


def rated(pass_rate: float | None = None, /, **success: float | None) -> dict[str, Any]:
    return {"recipe_metrics": RecipeMetrics(success_rates=success), "benchmark_metrics": {"test_pass_rate": pass_rate}}


# ── names ───────────────────────────────────────────────────────────────────


@given(st.tuples(IDS, IDS), st.tuples(IDS, IDS))
def test_two_agents_share_neither_a_folder_nor_a_subject(one: tuple[str, str], other: tuple[str, str]) -> None:
    first, second = agent_of(*one), agent_of(*other)
    assert (first.folder == second.folder) == (one == other) == (first.subject == second.subject)


@given(IDS, IDS)
def test_a_name_leads_back_to_its_agent_and_nowhere_else(prompt_id: str, flow_id: str) -> None:
    agent = agent_of(prompt_id, flow_id)
    assert agent_in(agent.folder) == agent == agent_called(agent.subject)
    assert not set(agent.folder) & set('/\\\0:*?"<>|')
    assert not agent.folder.startswith(".")


@pytest.mark.parametrize(
    ("prompt_id", "flow_id", "folder"),
    [
        ("7", "0", "7_0"),
        ("a_b", "c", "a%5Fb_c"),
        ("a", "b_c", "a_b_c"),
        ("../../etc", "passwd", "%2E.%2F..%2Fetc_passwd"),
        ("..", "..", "%2E%2E_%2E%2E"),
        ("C:\\x", "~root", "C%3A%5Cx_%7Eroot"),
    ],
)
def test_a_folder_is_called_as_its_agent_with_what_is_no_letter_escaped(prompt_id: str, flow_id: str, folder: str) -> None:
    assert agent_of(prompt_id, flow_id).folder == folder


@pytest.mark.parametrize("name", ["", " a", "a ", "a\nb", "a\x00", "\ud800", "x" * 129, "é" * 120], ids=ascii)
def test_a_name_that_is_none_is_refused(name: str) -> None:
    for ids in ((name, "f"), ("p", name)):
        with pytest.raises(UsageError):
            agent_of(*ids)


@pytest.mark.parametrize("subject", ["agent:", "agent:a", "agent:a/", "agent:/b", "agent: /b"])
def test_a_subject_of_somebody_else_is_no_agent(subject: str) -> None:
    assert agent_called(subject) is None


@pytest.mark.parametrize("folder", ["", "_", "a", "a_", "_b", "a%5_b", ".._x", "a%ff_b", ".lock", "a%5fb_c"])
def test_a_folder_of_somebody_else_is_no_agent(folder: str) -> None:
    assert agent_in(folder) is None


# ── triggers ────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("trigger", "created_ms", "now_ms", "quiet"),
    [
        pytest.param("recipe_change", 0, 59_999, True, id="a recipe_change just within a minute is left out"),
        pytest.param("recipe_change", 0, 60_000, False, id="a minute after it is not"),
        pytest.param("recipe_change", 0, 0, True, id="at the same moment it is left out"),
        pytest.param("recipe_change", 5_000, 0, False, id="a creation in the future says nothing"),
        pytest.param("recipe_change", None, 0, False, id="without a creation there is nothing to be quiet after"),
        *(pytest.param(name, 0, 1, False, id=f"{name} is never left out") for name in TRIGGERS if name != "recipe_change"),
    ],
)
def test_when_a_trigger_is_left_out(trigger: Trigger, created_ms: int | None, now_ms: int, quiet: bool) -> None:
    assert is_quiet(trigger, created_ms, now_ms) is quiet


def test_a_trigger_that_is_none_is_refused() -> None:
    with pytest.raises(UsageError, match="creation, recipe_change"):
        check_trigger("mood_change")


# ── validation ──────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    ("old", "new", "status", "found"),
    [
        pytest.param(rated(a=0.8), rated(a=0.76), "passed", [], id="exactly 95 % passes"),
        pytest.param(rated(a=0.8), rated(a=0.7599999999999999), "failed", ["success_rate.a"], id="a hair below does not"),
        pytest.param(rated(a=1.0), rated(a=0.95), "passed", [], id="19 of 20 is 95 % of all"),
        pytest.param(rated(a=0.7), rated(a=0.665), "passed", [], id="exact where floats would say below"),
        pytest.param(rated(0.98), rated(0.931), "passed", [], id="exactly 95 % of the pass rate"),
        pytest.param(rated(0.98), rated(0.9309), "failed", ["benchmark.test_pass_rate"], id="a pass rate below it"),
        pytest.param(rated(a=0.0), rated(a=0.0), "passed", [], id="from nothing to nothing"),
        pytest.param(rated(a=0.5), rated(a=1.0, b=0.0), "passed", [], id="better, and what is new is not judged"),
        pytest.param(rated(a=1.0, b=1.0), rated(a=1.0), "failed", ["success_rate.b"], id="an action that vanished is a regression"),
        pytest.param(rated(a=1.0, b=1.0), rated(a=1.0, b=None), "not_measured", [], id="an action that did not run is not measured"),
        pytest.param(rated(a=1.0, b=1.0), rated(a=0.1, b=None), "failed", ["success_rate.a"], id="a regression wins over what is unknown"),
        pytest.param(rated(a=1.0), {}, "not_measured", [], id="nothing measured now"),
        pytest.param(rated(1.0), rated(None), "not_measured", [], id="no pass rate now"),
        pytest.param(rated(a=None), rated(a=1.0), "not_measured", [], id="a baseline that knows nothing"),
        pytest.param({}, rated(1.0, a=1.0), "not_measured", [], id="an empty baseline"),
    ],
)
def test_each_figure_is_held_to_95_percent_of_the_baseline(old: dict[str, Any], new: dict[str, Any], status: str, found: list[str]) -> None:
    answer = judge("p", "f", snapshot(3, **old), Facts(**new))
    assert (answer.status, [each.metric for each in answer.regressions], answer.baseline_version) == (status, found, 3)
    assert answer.passed is (status == "passed")
    assert answer.exit_code == {"passed": 0, "failed": 1, "not_measured": 3}[status]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        (1.0, 0.5, "is 0.5, below 95 % of 1 in"),
        (1.0, 0.9499999, "is 0.9499999, below 95 % of 1 in"),
        (0.8, 0.7599999999999999, "is 0.7599999999999999, below 95 % of 0.8 in"),
        (0.33333333333, 0.31666666, "is 0.31666666, below 95 % of 0.33333333 in"),
    ],
)
def test_a_verdict_shows_enough_digits_to_be_seen(old: float, new: float, told: str) -> None:
    assert told in judge("p", "f", snapshot(**rated(a=old)), Facts(**rated(a=new))).reason


def test_an_agent_is_shown_as_it_is_asked_for() -> None:
    shown = {str(agent_of(*ids)): ids for ids in (("a/b", "c"), ("a", "b/c"), ("a%2Fb", "c"), ("a%b", "c"))}
    assert list(shown) == ["a%2Fb/c", "a/b/c", "a%252Fb/c", "a%25b/c"]
    assert {text: agent_spelled(text) for text in shown} == {text: agent_of(*ids) for text, ids in shown.items()}


def test_without_a_baseline_nothing_is_measured() -> None:
    answer = judge("p", "f", None, Facts(**rated(1.0, a=1.0)))
    assert (answer.passed, answer.status, answer.baseline_version, answer.exit_code) == (False, "not_measured", None, 3)


# ── comparing and trends ────────────────────────────────────────────────────


def test_a_comparison_has_every_figure_of_either_side() -> None:
    old = snapshot(
        1, **rated(0.9, gone=1.0, same=0.5), lightning_metrics=LightningMetrics(avg_reward=0.5, avg_duration=2.0, error_rate=0.0)
    )
    new = snapshot(
        2, **rated(0.99, same=0.5, fresh=1.0), lightning_metrics=LightningMetrics(avg_reward=0.6, avg_duration=3.0, error_rate=0.0)
    )
    found = {each.metric: each for each in compared(old, new).changes}
    verdicts = {name: each.verdict for name, each in found.items()}
    assert verdicts == {
        "success_rate.gone": "vanished",
        "success_rate.same": "unchanged",
        "success_rate.fresh": "new",
        "total_expected_duration": "unknown",
        "dead_ends": "unknown",
        "avg_reward": "improved",
        "error_rate": "unchanged",
        "avg_duration": "regressed",
        "benchmark.test_pass_rate": "improved",
        "composite_trust_score": "unknown",
    }
    assert (found["avg_duration"].delta, found["success_rate.gone"].delta) == (1.0, None)


@pytest.mark.parametrize(
    ("rewards", "durations", "overall", "reward", "duration"),
    [
        pytest.param([0.5, 0.6], [2.0, 2.0], "improving", "improving", "stable", id="better and as fast"),
        pytest.param([0.5, 0.54], [2.0, 2.125], "stable", "stable", "stable", id="within 10 % it is stable"),
        pytest.param([0.5, 0.9], [2.0, 3.0], "declining", "improving", "declining", id="either that declines counts"),
        pytest.param([0.5, None, 0.4], [3.0, None, 2.0], "declining", "declining", "improving", id="unknown ones are passed over"),
        pytest.param([None, 0.5], [None, None], "insufficient_data", "insufficient_data", "insufficient_data", id="one is no trend"),
        pytest.param([], [], "insufficient_data", "insufficient_data", "insufficient_data", id="none is no trend"),
    ],
)
def test_a_trend_is_the_first_against_the_last(
    rewards: list[float | None], durations: list[float | None], overall: str, reward: str, duration: str
) -> None:
    rows = [
        snapshot(number + 1, lightning_metrics=LightningMetrics(avg_reward=one, avg_duration=two))
        for number, (one, two) in enumerate(zip(rewards, durations, strict=True))
    ]
    found = trend_of(rows)
    assert (found.trend, found.snapshot_count, found.reward_trend, found.duration_trend) == (overall, len(rows), reward, duration)


# ── measuring ───────────────────────────────────────────────────────────────


def attempt(play: str, node: str, status: str = "success", number: int = 1, ms: float = 100.0) -> AttemptRow:
    return AttemptRow(play, node, number, status, ms)


def test_actions_are_measured_by_how_their_last_attempts_ended() -> None:
    rows = [
        *(attempt("1", "good"), attempt("2", "good", ms=300.0)),
        *(attempt("1", "mended", "failed"), attempt("1", "mended", number=2), attempt("2", "mended")),
        *(attempt("1", "dead", "failed"), attempt("2", "dead", "timeout")),
        *(attempt("1", "passed_over", "skipped"), attempt("2", "passed_over", "skipped")),
        *(attempt("1", "half"), attempt("2", "half", "failed"), attempt("3", "half", "cancelled")),
        *(attempt("1", "removed"), attempt("1", "good/inner", "failed"), attempt("1", "good[0]", "failed")),
    ]
    found = recipe_metrics(["good", "mended", "dead", "passed_over", "half", "never"], rows)
    assert found.success_rates == {"good": 1.0, "mended": 1.0, "dead": 0.0, "passed_over": None, "half": 0.5, "never": None}
    assert (found.action_count, found.dead_ends, found.effective_fallbacks) == (6, 2, 1)
    assert found.total_expected_duration == pytest.approx(0.2 + 0.1 + 0.1)


def test_without_a_play_nothing_is_known_but_the_recipe() -> None:
    assert recipe_metrics(["a"], []) == RecipeMetrics(action_count=1, success_rates={"a": None})
    assert lightning_metrics([]) == LightningMetrics(execution_count=0)
    assert benchmark_metrics([]) == {"test_pass_rate": None}


def test_a_play_that_succeeded_is_rewarded() -> None:
    statuses = ["success", "success", "failed", "timeout", "success"]
    found = lightning_metrics([PlayRow(str(number), status, 1000.0 * number, number) for number, status in enumerate(statuses)])
    assert found == LightningMetrics(
        avg_reward=0.6, total_reward=3.0, reward_trend="declining", execution_count=5, error_rate=0.4, avg_duration=5 / 3
    )


def test_where_no_play_succeeded_no_time_is_known() -> None:
    found = lightning_metrics([PlayRow("1", "failed", 5.0, 1)])
    assert (found.avg_reward, found.avg_duration, found.reward_trend) == (0.0, None, "insufficient_data")


def test_pass_rates_of_benches_are_weighed_by_runs() -> None:
    found = benchmark_metrics([BenchRow("1", "nightly", 30, 100.0), BenchRow("2", "nightly", 10, 50.0), BenchRow("3", "smoke", 10, 0.0)])
    assert found == {"test_pass_rate": 0.7, "nightly.success_rate": 0.875, "smoke.success_rate": 0.0}


# ── what is handed in ───────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"recipe_metric": {}}, id="a section that does not exist"),
        pytest.param({"recipe_metrics": {"success_rate": {}}}, id="a field that does not exist"),
        pytest.param({"recipe_metrics": {"success_rates": {"a": 95}}}, id="a rate in percent"),
        pytest.param({"recipe_metrics": {"success_rates": {"a": math.nan}}}, id="a rate that is no number"),
        pytest.param({"lightning_metrics": {"avg_reward": math.inf}}, id="an endless reward"),
        pytest.param({"lightning_metrics": {"reward_trend": "up"}}, id="a trend that is none"),
        pytest.param({"benchmark_metrics": {"test_pass_rate": 98}}, id="a pass rate in percent"),
        pytest.param({"benchmark_metrics": {"accuracy": -math.inf}}, id="an endless figure"),
        pytest.param({"recipe_metrics": {"dead_ends": -1}}, id="fewer than no dead ends"),
        pytest.param([], id="a list"),
    ],
)
def test_sections_that_do_not_fit_are_refused(given: Any) -> None:
    with pytest.raises(UsageError):
        read_sections(given)


def test_sections_of_the_document_are_taken_as_they_are() -> None:
    given = {
        "recipe_metrics": {
            "action_count": 5,
            "total_expected_duration": 120,
            "success_rates": {"action_1": 0.95, "action_2": 0.88},
            "dead_ends": 1,
            "effective_fallbacks": 2,
        },
        "lightning_metrics": {
            "avg_reward": 0.82,
            "total_reward": 41.0,
            "reward_trend": "improving",
            "execution_count": 50,
            "error_rate": 0.04,
            "avg_duration": 2.3,
        },
        "benchmark_metrics": {"test_pass_rate": 0.98, "model_registry_accuracy": 0.91},
        "trust_evolution": {"composite_trust_score": 0.87, "generation": 3, "specialization_path": "coding/python", "evolution_xp": 1250},
    }
    found = read_sections(given)
    assert found.given == ("recipe_metrics", "lightning_metrics", "benchmark_metrics", "trust_evolution")

"""A function as a target."""

from __future__ import annotations

import asyncio
import threading

import pytest
from tests.run.targets import target_things
from tests.run.targets.bench_parts import bench, call, once

from flowgauge.errors import UsageError
from flowgauge.model.bench import Answer
from flowgauge.run.targets.table import TargetServices, make_target


def of(function: str, config: dict[str, str] | None = None, **inputs: str) -> Answer:
    return once(bench("python", f"tests.run.targets.target_things:{function}", inputs or {"name": "Ada"}, config))


@pytest.mark.parametrize(
    ("function", "output"),
    [
        pytest.param("greet", "Hello, Ada", id="a plain function"),
        pytest.param("greet_later", "Hello, Ada", id="a coroutine function"),
        pytest.param("agent", "agent of Ada", id="an object that can be called"),
    ],
)
def test_it_is_called_with_the_inputs_by_name(function: str, output: str) -> None:
    answer = of(function)
    assert (answer.status, answer.output, answer.error) == ("success", output, None)
    assert answer.started_at > 0
    assert answer.duration_ms > 0


def test_it_is_handed_the_config_where_it_takes_it() -> None:
    assert of("with_config", {"model": "m1"}).output == {"name": "Ada", "model": "m1"}


def test_what_it_reports_is_taken_over() -> None:
    answer = of("full_report")
    assert (answer.output, answer.tokens_prompt, answer.tokens_completion) == ("ADA", 7, 3)
    assert (answer.cost_usd, answer.cost_source, answer.model) == (0.25, "provider", "m")
    assert (answer.scores, answer.first_token_ms, answer.retries) == ({"sure": 0.9}, 4.5, 2)
    assert answer.nodes == {"first": {"text": "a"}}


def test_tokens_of_a_known_model_are_priced() -> None:
    answer = of("tokens_only")
    assert (answer.cost_usd, answer.cost_source) == (20.0, "computed")


def test_a_cost_that_nobody_names_is_unknown_and_not_zero() -> None:
    answer = of("greet")
    assert (answer.cost_usd, answer.cost_source) == (None, "unpriced")


def test_an_object_with_other_keys_is_an_output_like_any_other() -> None:
    assert of("other_object").output == {"output": "Ada", "confidence": 0.5}


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        pytest.param("stumble", "code_error", "raised KeyError: 'Ada'", id="an error"),
        pytest.param("stumble_later", "code_error", "raised KeyError: 'Ada'", id="an error in a coroutine"),
        pytest.param("leave", "code_error", "raised SystemExit: 4", id="sys.exit in a thread"),
        pytest.param("leave_later", "code_error", "raised SystemExit: 4", id="sys.exit on the loop"),
        pytest.param("cancel_itself", "code_error", "raised CancelledError", id="a cancellation that nobody asked for"),
        pytest.param("limited", "rate_limited", "later", id="a failure that says its kind"),
        pytest.param("bad_report", "invalid_output", "tokens_prompt", id="a report that cannot be read"),
        pytest.param("no_json", "invalid_output", "JSON cannot hold", id="an object that JSON cannot hold"),
        pytest.param("not_a_number", "invalid_output", "JSON cannot hold", id="not a number"),
    ],
)
def test_what_goes_wrong_is_a_failed_answer(function: str, kind: str, message: str) -> None:
    answer = of(function)
    assert answer.status == "failed"
    assert answer.error is not None
    assert (answer.error.kind, message in answer.error.message) == (kind, True), answer.error.message
    assert answer.cost_usd is None


def test_an_input_that_it_does_not_take_is_a_failed_answer() -> None:
    answer = of("greet", surname="Lovelace")
    assert answer.error is not None
    assert "unexpected keyword argument 'surname'" in answer.error.message


@pytest.mark.parametrize(
    ("reference", "message"),
    [
        pytest.param("tests.run.targets.target_things", "names no object", id="no function named"),
        pytest.param("no_such_module:f", "Cannot import no_such_module", id="no such module"),
        pytest.param("tests.run.targets.target_things:absent", "has no 'absent'", id="no such function"),
        pytest.param("tests.run.targets.target_things:number", "not a function", id="a number"),
    ],
)
def test_a_name_that_leads_nowhere_is_refused_before_anything_runs(reference: str, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        make_target(bench("python", reference), TargetServices())


def test_plain_functions_run_side_by_side_and_waiting_for_a_thread_is_not_their_time() -> None:
    definition = bench("python", "tests.run.targets.target_things:rest", {"name": "x"}, max_concurrent_runs=3)

    async def six() -> list[Answer]:
        caller = make_target(definition, TargetServices())
        answers = await asyncio.gather(*(call(caller, definition) for _ in range(6)))
        await caller.close()
        return answers

    answers = asyncio.run(six())
    assert {answer.status for answer in answers} == {"success"}
    waited = sorted(answer.queue_ms for answer in answers)
    assert all(ms >= 20 for ms in waited[3:])
    assert all(answer.duration_ms < answer.queue_ms + 60 for answer in answers)


def test_a_function_that_hangs_costs_its_thread_and_no_more() -> None:
    definition = bench("python", "tests.run.targets.target_things:wait_for_release", {"name": "x"}, max_concurrent_runs=1)
    target_things.release.clear()

    async def give_up_and_go_on() -> Answer:
        caller = make_target(definition, TargetServices())
        for _ in range(3):
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(call(caller, definition), 0.02)
        target_things.release.set()
        answer = await call(caller, definition)
        await caller.close()
        return answer

    assert asyncio.run(give_up_and_go_on()).output == "released"
    for thread in threading.enumerate():
        if thread.name == "flowgauge-target":
            thread.join(5)
            assert not thread.is_alive()

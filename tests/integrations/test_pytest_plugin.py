"""The pytest plugin in real pytest runs: what is measured, stored, judged and shown."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from flowgauge.model.bench import BenchRecord, Trial
from flowgauge.store import open_store
from flowgauge.store.store import Store

pytest_plugins = ["pytester"]

EXAMPLES = Path(__file__).parents[2] / "examples" / "pytest"


@pytest.fixture(scope="module")
def _imported(tmp_path_factory: pytest.TempPathFactory) -> None:
    """All that a bench imports, so that no inner run (which forgets what it imported) does it again."""
    import flowgauge.pytest_plugin.measuring  # noqa: F401
    from flowgauge.app.bench_api import bench

    checks = [{"type": "equals", "value": 1}]
    bench(lambda: 1, {"checks": checks}, db=str(tmp_path_factory.mktemp("warm") / "store.db"))


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch, _imported: None, pytester: pytest.Pytester) -> None:
    monkeypatch.delenv("FLOWGAUGE_DB", raising=False)
    monkeypatch.delenv("PYTEST_ADDOPTS", raising=False)


@pytest.fixture
def stored(pytester: pytest.Pytester) -> Iterator[Store]:
    """Where an inner run stores by default, opened when it has run."""
    with open_store(str(pytester.path / ".flowgauge" / "flowgauge.db")) as store:
        yield store


def run(pytester: pytest.Pytester, *arguments: str) -> pytest.RunResult:
    return pytester.runpytest_inprocess("-p", "no:cacheprovider", "-p", "no:randomly", *arguments)


def run_apart(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, *arguments: str) -> pytest.RunResult:
    """In a process of its own, with no other plugins."""
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    return pytester.runpytest_subprocess("-p", "no:cacheprovider", "-p", "flowgauge.pytest_plugin", *arguments)


def only_bench(store: Store) -> tuple[BenchRecord, list[Trial]]:
    (record,) = store.list_benches(with_cases=True).items
    return record, list(store.iter_trials(record.uid))


def test_a_marked_test_is_run_as_often_as_it_says_and_stored_as_a_bench(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile(
        test_it="""
        import pytest
        CALLS = []
        @pytest.mark.flowgauge(runs=4)
        def test_answer():
            CALLS.append(1)
        def test_count():
            assert len(CALLS) == 4
        """
    )
    run(pytester).assert_outcomes(passed=2)
    record, trials = only_bench(stored)
    assert (record.name, record.status, record.total) == ("test_it.test_answer", "finished", 4)
    assert [(trial.passed, trial.failure_category) for trial in trials] == [(True, "")] * 4
    (benchmark,) = stored.list_benchmarks(bench=record.bench_id).items
    assert (benchmark.num_runs, benchmark.success_rate) == (4, 100.0)


def test_parameters_become_cases_of_one_bench(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.flowgauge(runs=2)
        @pytest.mark.parametrize(("word", "thing"), [("one", object()), ("two", 2)], ids=["first", "second"])
        def test_word(word, thing):
            assert word in ("one", "two")
        """
    )
    run(pytester).assert_outcomes(passed=2)
    record, trials = only_bench(stored)
    assert sorted(trial.case for trial in trials) == ["first", "first", "second", "second"]
    inputs = {case.name: case.inputs for case in record.definition.cases}
    assert inputs["second"] == {"word": "two", "thing": 2}
    assert inputs["first"]["thing"].startswith("<object object")
    (benchmark,) = stored.list_benchmarks(bench=record.bench_id).items
    assert benchmark.num_runs == 4


def test_an_assertion_is_a_wrong_answer_and_an_exception_an_error_of_the_code(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile(
        """
        import pytest
        CALLS = []
        @pytest.mark.flowgauge(runs=4)
        def test_mixed():
            CALLS.append(1)
            if len(CALLS) == 2:
                raise KeyError("lost")
            if len(CALLS) == 3:
                pytest.fail("said so")
            assert len(CALLS) != 4, "the fourth"
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    _, trials = only_bench(stored)
    assert [trial.failure_category for trial in trials] == ["", "code_error", "wrong_answer", "wrong_answer"]
    assert trials[1].answer.error is not None
    assert 'raise KeyError("lost")' in trials[1].answer.error.detail
    assert "the fourth" in trials[3].answer.output["assertion_error"]
    result.stdout.fnmatch_lines(
        ["flowgauge: success_rate is 0.25, not at least 1", "*default: 25 % (1 of 4; 95 % interval * to *) succeeded"]
    )
    result.stdout.fnmatch_lines(["*1 × KeyError: 'lost'", "*bench test_an_assertion*"])


@pytest.mark.parametrize(
    ("bounds", "passes"),
    [
        pytest.param("min_success=0.7", True, id="a success rate above the bound"),
        pytest.param("min_success=0.9", False, id="a success rate below the bound"),
        pytest.param("fail_under=['success_rate=0.7', 'p95_ms<=60000']", True, id="every rule met"),
        pytest.param("min_success=0.7, fail_under='p50_ms<=0.0000001'", False, id="too slow"),
        pytest.param("fail_under='cost_usd<=1'", False, id="a cost that nobody knows meets no bound"),
        pytest.param("", False, id="without bounds no run may fail"),
    ],
)
def test_bounds_decide(pytester: pytest.Pytester, bounds: str, passes: bool) -> None:
    pytester.makepyfile(
        f"""
        import pytest
        CALLS = []
        @pytest.mark.flowgauge(runs=5, {bounds})
        def test_four_of_five():
            CALLS.append(1)
            assert len(CALLS) != 3
        """
    )
    run(pytester).assert_outcomes(passed=int(passes), failed=int(not passes))


def test_a_case_is_judged_by_its_own_runs(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.flowgauge(runs=3, min_success=0.5)
        @pytest.mark.parametrize("right", [False, True])
        def test_one(right):
            assert right
        """
    )
    run(pytester).assert_outcomes(passed=1, failed=1)


def test_a_test_runs_in_the_thread_of_its_fixtures_and_may_have_a_loop_of_its_own(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio, sqlite3, threading, pytest
        @pytest.fixture
        def connection():
            return sqlite3.connect(":memory:")
        @pytest.mark.flowgauge(runs=3)
        def test_it(connection):
            connection.execute("select 1")
            asyncio.run(asyncio.sleep(0))
            assert threading.current_thread() is threading.main_thread()
        """
    )
    run(pytester).assert_outcomes(passed=1)


def test_runs_at_once_overlap(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import asyncio, threading, pytest
        THREADS, TASKS = threading.Barrier(3, timeout=30), []
        @pytest.mark.flowgauge(runs=3, max_concurrency=3)
        def test_threads():
            THREADS.wait()
        @pytest.mark.flowgauge(runs=3, max_concurrency=3, timeout_s=30)
        async def test_tasks():
            TASKS.append(1)
            while len(TASKS) < 3:
                await asyncio.sleep(0.001)
        """
    )
    run(pytester).assert_outcomes(passed=2)


@pytest.mark.parametrize("kind", ["def", "async def"])
def test_a_run_that_hangs_is_a_timeout_and_the_others_go_on(pytester: pytest.Pytester, stored: Store, kind: str) -> None:
    hang = "await asyncio.Event().wait()" if kind == "async def" else "threading.Event().wait()"
    pytester.makepyfile(
        f"""
        import asyncio, threading, pytest
        CALLS = []
        @pytest.mark.flowgauge(runs=4, min_success=0.75, timeout_s=0.5)
        {kind} test_it():
            CALLS.append(1)
            if len(CALLS) == 2:
                {hang}
        """
    )
    run(pytester).assert_outcomes(passed=1)
    _, trials = only_bench(stored)
    assert [trial.failure_category for trial in trials] == ["", "timeout", "", ""]


def test_a_coroutine_is_measured_with_and_without_a_plugin_for_it(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile(
        """
        import asyncio, pytest
        @pytest.mark.flowgauge(runs=2)
        async def test_plain():
            await asyncio.sleep(0)
        @pytest.fixture
        def anyio_backend():
            return "asyncio"
        @pytest.mark.anyio
        @pytest.mark.flowgauge(runs=3, configs={"a": {"n": 1}, "b": {"n": 2}})
        async def test_anyio(flowgauge_config):
            await asyncio.sleep(0)
            assert flowgauge_config["n"] in (1, 2)
        """
    )
    run(pytester).assert_outcomes(passed=2)
    assert sorted(record.total for record in stored.list_benches().items) == [2, 6]


def test_configurations_stand_side_by_side(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.flowgauge(runs=2, configs={"small": {"n": 1}, "large": {"n": 2}})
        def test_it(flowgauge_config):
            assert flowgauge_config["n"] == 1
        """
    )
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines(["flowgauge: large: success_rate is 0, not at least 1"])
    result.stdout.fnmatch_lines(["*= flowgauge =*", "*test_it · small  100 %*", "*test_it · large  0 %*"])


def test_what_a_run_reports_is_taken_over(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.flowgauge(runs=2, fail_under=["score.tone>=0.5", "cost_usd<=0.01"])
        def test_it(flowgauge_trial):
            flowgauge_trial.report(cost_usd=0.002, tokens_prompt=10, tokens_completion=5, scores={"tone": 0.5}, output="hello")
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=1)
    result.stdout.fnmatch_lines(["*100 % (2 of 2; *$0.002000*test_what*"])
    _, trials = only_bench(stored)
    assert {(trial.answer.cost_usd, trial.answer.tokens_prompt, trial.answer.output["output"]) for trial in trials} == {
        (0.002, 10, "hello")
    }


@pytest.mark.parametrize(
    ("said", "outcome"),
    [
        pytest.param("pytest.skip('not here')", {"skipped": 1}, id="skip"),
        pytest.param("pytest.xfail('known')", {"xfailed": 1}, id="xfail"),
    ],
)
def test_a_test_that_says_it_cannot_be_measured_leaves_no_bench(
    pytester: pytest.Pytester, stored: Store, said: str, outcome: dict[str, int]
) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.flowgauge(runs=3)\ndef test_it():\n    {said}")
    run(pytester).assert_outcomes(**outcome)
    assert stored.list_benches().items == ()


def test_cases_go_on_after_one_that_skips(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.flowgauge(runs=2)
        @pytest.mark.parametrize("n", [1, 2, 3])
        def test_it(n):
            if n == 2:
                pytest.skip("not two")
        """
    )
    run(pytester).assert_outcomes(passed=2, skipped=1)
    assert sorted(record.status for record in stored.list_benches().items) == ["finished", "interrupted"]


def test_an_interruption_ends_the_run_of_pytest(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.flowgauge(runs=3)
        def test_it():
            raise KeyboardInterrupt
        """
    )
    assert run_apart(pytester, monkeypatch).ret == pytest.ExitCode.INTERRUPTED


def test_an_expected_failure_stays_one(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.xfail(strict=True)
        @pytest.mark.flowgauge(runs=2)
        def test_it():
            assert False
        """
    )
    run(pytester).assert_outcomes(xfailed=1)


@pytest.mark.parametrize(
    ("keywords", "complaint"),
    [
        pytest.param("rnus=3", "*the marker has no 'rnus'. Did you mean 'runs'?", id="a keyword that is not there"),
        pytest.param("3", "*takes keywords only*", id="a number by itself"),
        pytest.param("runs='many'", "*cannot be read*", id="no number"),
        pytest.param("runs=0", "*at least 1*", id="no run"),
        pytest.param("min_success=90", "*min_success is a share*", id="a percentage"),
        pytest.param("fail_under=['speed=1']", "*There is no metric 'speed'*", id="a metric that is not there"),
    ],
)
def test_a_marker_with_a_mistake_says_so(pytester: pytest.Pytester, keywords: str, complaint: str) -> None:
    pytester.makepyfile(f"import pytest\n@pytest.mark.flowgauge({keywords})\ndef test_it(): pass")
    result = run(pytester)
    result.assert_outcomes(failed=1)
    result.stdout.fnmatch_lines([f"flowgauge: {complaint}"])
    assert "Traceback" not in result.stdout.str()


def test_a_test_case_class_is_refused(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        """
        import pytest, unittest
        @pytest.mark.flowgauge(runs=3)
        class TestOld(unittest.TestCase):
            def test_it(self): pass
        """
    )
    result = run(pytester)
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(["*measures test functions only*"])


MARKED = """
import asyncio, pytest
CALLS = []
@pytest.mark.flowgauge(runs=4, configs={"only": {"n": 7}})
async def test_async(flowgauge_config, flowgauge_trial):
    flowgauge_trial.report(cost_usd=1.0)
    assert flowgauge_config == {"n": 7}
@pytest.mark.flowgauge(runs=4)
def test_it():
    CALLS.append(1)
def test_count():
    print(f"called {len(CALLS)} times")
def test_bench(flowgauge_bench):
    assert flowgauge_bench(max, runs=2).outcome.record.total == 3
"""


def test_off_runs_everything_once_and_stores_nothing(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MARKED)
    result = run(pytester, "--flowgauge-off", "-s")
    result.assert_outcomes(passed=3, skipped=1)
    result.stdout.fnmatch_lines(["*called 1 times*"])
    assert "= flowgauge =" not in result.stdout.str()
    assert not (pytester.path / ".flowgauge").exists()


def test_options_say_how_often_and_where(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(MARKED.replace("flowgauge_bench(max", "flowgauge_bench(lambda: 1"))
    result = run(pytester, "--flowgauge-runs", "3", "--flowgauge-db", "elsewhere.db", "-s")
    result.assert_outcomes(passed=4)
    result.stdout.fnmatch_lines(["*called 3 times*"])
    assert not (pytester.path / ".flowgauge").exists()
    with open_store(str(pytester.path / "elsewhere.db")) as store:
        assert [record.total for record in store.list_benches().items] == [3, 3, 3]


def test_the_store_stays_where_pytest_was_called(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.flowgauge(runs=2)
        def test_it(monkeypatch, tmp_path):
            monkeypatch.chdir(tmp_path)
        """
    )
    run(pytester).assert_outcomes(passed=1)
    assert only_bench(stored)[0].total == 2


def test_the_fixture_stores_a_bench_and_gives_its_result(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile(
        """
        import asyncio, pytest
        def double(n): return n * 2
        CASES = {"cases": [{"name": "two", "inputs": {"n": 2}}], "checks": [{"type": "equals", "value": 4}]}
        def test_sync(flowgauge_bench):
            result = flowgauge_bench(double, configs=CASES, runs=3)
            assert result.configs["default"].success.value == 1.0
        def test_async(flowgauge_bench):
            async def main():
                with pytest.raises(Exception, match="await flowgauge_bench.abench"):
                    flowgauge_bench(double, configs=CASES)
                return await flowgauge_bench.abench(double, configs=CASES, runs=2)
            assert asyncio.run(main()).outcome.how == "new"
        """
    )
    result = run(pytester)
    result.assert_outcomes(passed=2)
    result.stdout.fnmatch_lines(["*::test_sync *100 % (3 of 3*", "*::test_async *100 % (2 of 2*"])
    assert [record.total for record in stored.list_benches().items] == [2, 3]


def test_junit_names_the_bench(pytester: pytest.Pytester, stored: Store) -> None:
    pytester.makepyfile("import pytest\n@pytest.mark.flowgauge(runs=2)\ndef test_it(): pass")
    run(pytester, "--junitxml=out.xml")
    assert f'name="flowgauge_bench" value="{only_bench(stored)[0].bench_id}"' in (pytester.path / "out.xml").read_text()


def test_many_workers_store_in_one_place(pytester: pytest.Pytester, stored: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(
        """
        import pytest
        @pytest.mark.flowgauge(runs=3)
        @pytest.mark.parametrize("n", range(12))
        def test_it(n): pass
        """
    )
    result = run_apart(pytester, monkeypatch, "-p", "xdist", "-n", "3", "--dist", "load")
    result.assert_outcomes(passed=12)
    assert result.stdout.str().count("100 % (3 of 3;") == 12
    records = stored.list_benches().items
    trials = [trial for record in records for trial in stored.iter_trials(record.uid)]
    assert len(trials) == 36
    assert {trial.case for trial in trials} == {str(n) for n in range(12)}
    assert len({record.definition.tags["testrun"] for record in records}) == 1


def test_a_run_without_marks_imports_nothing_of_ours(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    pytester.makepyfile(
        """
        import sys
        def test_it():
            ours = sorted(name for name in sys.modules if name.startswith("flowgauge"))
            assert ours == ["flowgauge", "flowgauge._version", "flowgauge.pytest_plugin"]
            assert {"msgspec", "sqlalchemy", "asyncio"}.isdisjoint(sys.modules)
        """
    )
    run_apart(pytester, monkeypatch).assert_outcomes(passed=1)


def test_the_example_runs(pytester: pytest.Pytester, stored: Store) -> None:
    command = [sys.executable, "-m", "pytest", "-c", "/dev/null", "--rootdir", str(EXAMPLES), "-p", "no:cacheprovider", str(EXAMPLES)]
    done = subprocess.run(command, cwd=pytester.path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "4 passed" in done.stdout
    assert len(stored.list_benches().items) == 3

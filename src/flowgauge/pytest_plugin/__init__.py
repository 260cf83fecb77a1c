"""The pytest plugin: `@pytest.mark.flowgauge(…)` and the fixture `flowgauge_bench`.

Loaded in every pytest run of everybody who has Flowgauge installed, so it
imports nothing of it before a test asks. See docs/pytest.md.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from flowgauge.pytest_plugin.fixtures import BenchFixture, TrialNotes
    from flowgauge.pytest_plugin.session import Session

MARKER = "flowgauge"
_HELP = (
    "flowgauge(runs=5, configs=None, min_success=None, fail_under=(), name='', max_concurrency=1, timeout_s=None, tags=None): "
    "run the test many times as a bench, store the results, and fail where the bounds are not met."
)
_SESSION = pytest.StashKey["Session"]()
_ROWS = pytest.StashKey[list[dict[str, str]]]()
_PLAIN = pytest.StashKey[bool]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """--flowgauge-db, --flowgauge-runs, --flowgauge-off."""
    group = parser.getgroup("flowgauge")
    group.addoption("--flowgauge-db", metavar="PATH|URL", help="Where benches are stored. Default: FLOWGAUGE_DB, or .flowgauge/ here.")
    group.addoption("--flowgauge-runs", type=int, metavar="N", help="Runs of every bench, instead of what the tests say.")
    group.addoption("--flowgauge-off", action="store_true", help="Run marked tests once, as plain tests, and store nothing.")


def pytest_configure(config: pytest.Config) -> None:
    """Make the marker known."""
    config.addinivalue_line("markers", _HELP)
    runs = config.getoption("flowgauge_runs")
    if runs is not None and runs < 1:
        raise pytest.UsageError("--flowgauge-runs must be at least 1.")
    config.pluginmanager.register(_Summary(config), "flowgauge-summary")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Refuse what could not be measured, rather than run it once in silence."""
    for item in items:
        if item.get_closest_marker(MARKER) and (not isinstance(item, pytest.Function) or _is_unittest(item)):
            raise pytest.UsageError(f"{item.nodeid}: flowgauge measures test functions only, not {type(item).__name__}.")


@pytest.hookimpl(wrapper=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> Generator[None, object, object]:
    """Run a marked test as a bench. A wrapper comes before plugins that would call the test themselves; they then find nothing to do."""
    mark = pyfuncitem.get_closest_marker(MARKER)
    if mark is None or pyfuncitem.stash.get(_PLAIN, False):
        return (yield)
    own = pyfuncitem.obj
    pyfuncitem.obj = _once(pyfuncitem) if pyfuncitem.config.getoption("flowgauge_off") else _measured(pyfuncitem, mark)
    try:
        return (yield)
    finally:
        pyfuncitem.obj = own


def _measured(item: pytest.Function, mark: pytest.Mark) -> Callable[..., Any]:
    from flowgauge.pytest_plugin.measuring import measure

    measure(item, mark, session_of(item.config))
    return lambda **_: None


def _once(item: pytest.Function) -> Callable[..., Any]:
    """The test as it is; a coroutine function that no other plugin would run is run here."""
    own: Callable[..., Any] = item.obj
    if not inspect.iscoroutinefunction(own) or "anyio_backend" in item.funcargs:
        return own
    import asyncio

    return lambda **arguments: asyncio.run(own(**arguments))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Hand the numbers to whoever prints the summary: with pytest-xdist that is another process."""
    report = yield
    if call.when == "call" and _ROWS in item.stash:
        vars(report)["flowgauge"] = item.stash[_ROWS]
    return report


@pytest.fixture
def flowgauge_bench(request: pytest.FixtureRequest) -> BenchFixture:
    """`fg.bench`, stored where this run stores and shown in its summary; in async tests: `await flowgauge_bench.abench(…)`."""
    if request.config.getoption("flowgauge_off"):
        pytest.skip("--flowgauge-off")
    from flowgauge.pytest_plugin.fixtures import BenchFixture

    return BenchFixture(request.node, session_of(request.config))


@pytest.fixture
def flowgauge_trial() -> TrialNotes:
    """What one run says about itself: `flowgauge_trial.report(cost_usd=0.002, tokens_prompt=120, scores={"tone": 0.8})`."""
    from flowgauge.pytest_plugin.fixtures import TrialNotes

    return TrialNotes()


@pytest.fixture
def flowgauge_config(request: pytest.FixtureRequest) -> dict[str, Any]:
    """The configuration of the run, where the marker names `configs`; else empty. Changes from run to run."""
    mark = request.node.get_closest_marker(MARKER)
    configs = (mark.kwargs.get("configs") if mark else None) or {}
    return dict(next(iter(configs.values()), {}))


def session_of(config: pytest.Config) -> Session:
    """The benches of this pytest run; made when the first is asked for."""
    if _SESSION not in config.stash:
        from flowgauge.pytest_plugin.session import Session

        config.stash[_SESSION] = Session.of(config)
    return config.stash[_SESSION]


def add_rows(item: pytest.Item, rows: list[dict[str, str]]) -> None:
    """Lines of the summary that come of a test."""
    item.stash.setdefault(_ROWS, []).extend(rows)


def as_plain(item: pytest.Function) -> None:
    """Call a test once as another plugin would: this one keeps out of it."""
    item.stash[_PLAIN] = True
    try:
        item.ihook.pytest_pyfunc_call(pyfuncitem=item)
    finally:
        item.stash[_PLAIN] = False


def _is_unittest(item: pytest.Item) -> bool:
    from _pytest.unittest import TestCaseFunction

    return isinstance(item, TestCaseFunction)


class _Summary:
    """Prints what all processes of the run have measured."""

    def __init__(self, config: pytest.Config) -> None:
        self._rows: list[dict[str, str]] = []
        self._prints = not hasattr(config, "workerinput")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self._rows.extend(getattr(report, "flowgauge", ()))

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._rows and self._prints:
            from flowgauge.pytest_plugin.summary import table

            terminalreporter.section("flowgauge")
            for line in table(self._rows):
                terminalreporter.write_line(line)

"""Measures one marked test: as many trials as asked, stored as a bench, held against its bounds."""

from __future__ import annotations

import asyncio
import hashlib
import re
from typing import TYPE_CHECKING, Any

import msgspec
import pytest

from flowgauge.app.bench import BenchOutcome, BenchRequest, run_bench
from flowgauge.app.hosted import open_hosted
from flowgauge.app.workspace import opened_store
from flowgauge.errors import FlowgaugeError, NotMeasured
from flowgauge.pytest_plugin import add_rows
from flowgauge.pytest_plugin.body import CHECK, Body
from flowgauge.pytest_plugin.main_thread import MainThread
from flowgauge.pytest_plugin.mark import Mark, read_mark
from flowgauge.pytest_plugin.session import Begun
from flowgauge.pytest_plugin.summary import broken, rows_of, verdict

if TYPE_CHECKING:
    from flowgauge.model.benchmark import Cell
    from flowgauge.pytest_plugin.session import Session

LONGEST_NAME = 100
GRACE_S = 0.0
"""Nothing else is under way when a test speaks to pytest, or nobody waits for it."""
_UNSPEAKABLE = re.compile(r"[^A-Za-z0-9._-]+")


def measure(item: pytest.Function, given: pytest.Mark, session: Session) -> None:
    """Run, store, judge. Raises what pytest takes for a failure, or what the test said to it."""
    case = case_name(item)
    try:
        mark = read_mark(item, given, session.runs)
        bounds = mark.bounds()
        outcome, body = _run(item, mark, case, session)
    except FlowgaugeError as error:
        raise pytest.fail.Exception(f"flowgauge: {error}", pytrace=False) from None
    if body.word is not None:
        _forget(item, outcome, session)
        raise body.word
    bench_id = outcome.record.bench_id
    cells = _cells(outcome, case)
    add_rows(item, rows_of(item.nodeid, bench_id, cells))
    item.user_properties.append(("flowgauge_bench", bench_id))
    if unmet := broken(cells, bounds):
        first = str(item.repr_failure(pytest.ExceptionInfo.from_exception(body.failures[0]))) if body.failures else ""
        pytest.fail(verdict(cells, unmet, body.failures, first, f"bench {bench_id} in {session.db}"), pytrace=False)


def _run(item: pytest.Function, mark: Mark, case: str, session: Session) -> tuple[BenchOutcome, Body]:
    main: MainThread[BenchOutcome] = MainThread()
    stopping: list[tuple[asyncio.AbstractEventLoop, asyncio.Event]] = []

    def stop() -> None:
        loop, event = stopping[0]
        loop.call_soon_threadsafe(event.set)

    body = Body(item, stop)
    # A run that is given up on would keep the main thread from the next one.
    function = body.target(main, in_threads=mark.max_concurrency > 1 or mark.timeout_s is not None)
    key = function_key(item)
    begun = session.benches.get(key)
    if begun is not None and case in begun.cases:
        begun = None  # the same test once more: what it gave before stays as it is
    request = _request(item, mark, case, function, session, begun)

    async def bench() -> BenchOutcome:
        event = asyncio.Event()
        stopping.append((asyncio.get_running_loop(), event))
        async with open_hosted(session.db) as workspace:
            return await run_bench(workspace, request, stop=event)

    outcome = main.run(bench)
    cases = begun.cases if begun is not None else set()
    session.benches[key] = Begun(outcome.record.bench_id, {*cases, case})
    return outcome, body


def _request(item: pytest.Function, mark: Mark, case: str, function: Any, session: Session, begun: Begun | None) -> BenchRequest:
    told = {"nodeid": item.nodeid.partition("[")[0], **({"testrun": session.uid} if session.uid else {}), **(mark.tags or {})}
    value = {
        "name": mark.name or bench_name(item),
        "configs": mark.settings(),
        "cases": [{"name": case, "inputs": inputs_of(item), "runs": mark.runs}],
        "checks": [CHECK],
    }
    options = {"max_concurrency": mark.max_concurrency, "timeout_s": mark.timeout_s, "tags": told}
    extend = begun.bench_id if begun is not None else ""
    return BenchRequest(function=function, configs=value, options=options, new=not extend, extend=extend, db=session.db, grace_s=GRACE_S)


def _cells(outcome: BenchOutcome, case: str) -> dict[str, Cell]:
    """Of this case alone: other cases of the test have been judged before."""
    cells = {config.name: config.cases[case] for config in outcome.summary.configs if case in config.cases}
    if not cells:
        raise NotMeasured("No run of this test has a result.", remedy="Look for what stopped it above.")
    return cells


def _forget(item: pytest.Function, outcome: BenchOutcome, session: Session) -> None:
    """A test that skips itself was not measured: a bench of its own is removed, one with other cases in it is not added to any more."""
    begun = session.benches.pop(function_key(item))
    if len(begun.cases) == 1:
        with opened_store(session.db) as store:
            store.delete_bench(outcome.record.uid)


def function_key(item: pytest.Function) -> str:
    """The test without its parameters."""
    return item.nodeid.partition("[")[0]


def bench_name(item: pytest.Function) -> str:
    """tests/test_a.py::TestB::test_c → tests.test_a.TestB.test_c: one word in every shell."""
    spoken = function_key(item).replace(".py::", ".").replace("::", ".").replace("/", ".")
    return _UNSPEAKABLE.sub("_", spoken)[-LONGEST_NAME:].strip("._-") or "test"


def case_name(item: pytest.Function) -> str:
    """The id of the parameters."""
    callspec = getattr(item, "callspec", None)
    name = str(callspec.id) if callspec is not None else ""
    if not name.strip():
        return "default"
    return name if len(name) <= LONGEST_NAME else f"{name[: LONGEST_NAME - 9]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def inputs_of(item: pytest.Function) -> dict[str, Any]:
    """The parameters, for readers of the report: the test gets them from pytest. What JSON cannot hold is shown as Python writes it."""
    callspec = getattr(item, "callspec", None)
    given = callspec.params if callspec is not None else {}
    return {f"{name}_" if name == "config" else name: _plain(value) for name, value in given.items()}


def _plain(value: Any) -> Any:
    try:
        return msgspec.json.decode(msgspec.json.encode(value))
    except (TypeError, ValueError, RecursionError, msgspec.MsgspecError):
        return repr(value)

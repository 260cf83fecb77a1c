"""Trials, read: whole, by page, and as a stream of columns.

The journal writes them. Streams hold one moment of the store and a few hundred
rows at a time, whatever the size of the bench.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from sqlalchemy import ColumnElement, Select, Table, Text, func, or_, select, type_coerce

from flowgauge.errors import NotFound, UsageError
from flowgauge.model.bench import INFRASTRUCTURE, BenchRecord, CheckResult, Trial, TrialStatus, judge_cost_usd
from flowgauge.store.bench_rows import read_trial
from flowgauge.store.benches import find_bench
from flowgauge.store.database import Database
from flowgauge.store.page import DEFAULT_LIMIT, Order, Page, fetch_page
from flowgauge.store.plain import unescape
from flowgauge.store.prefix import begins_with
from flowgauge.store.schema import Plain, benches, node_runs, trials

_LARGE = frozenset({"output", "nodes"})
_WHOLE = tuple(column for column in trials.c if column.name != "seq")
_SUMMARY = tuple(column for column in _WHOLE if column.name not in _LARGE)
_ROWS_AT_ONCE = 2000
_TRUTH = {None: None, 0: False, 1: True}
_IN_ORDER = (trials.c.position, trials.c.run_id)


class _Kind(msgspec.Struct):
    kind: str


_kind = msgspec.json.Decoder(_Kind).decode
_checks = msgspec.json.Decoder(tuple[CheckResult, ...]).decode

TrialRow = tuple[Any, ...]
"""config, case, status, passed, failure_category, duration_ms, queue_ms, backoff_ms, score_ms, first_token_ms, retries, tokens_prompt,
tokens_completion, cost_usd, cost_source, model, scores_json, checks_json, repeated, cached."""
NodeRow = tuple[Any, ...]
"""config, node_id, attempt, status, duration_ms, tokens_prompt, tokens_completion, cost_usd, cost_source, failure_kind."""


def _raw(table: Table, *names: str) -> tuple[ColumnElement[Any], ...]:
    """Columns as they are stored: unescaping is then done only where there is something to unescape."""
    return tuple(type_coerce(table.c[name], Text) if isinstance(table.c[name].type, Plain) else table.c[name] for name in names)


_TRIAL_ROW = _raw(
    trials, "config", "case_name", "status", "passed", "failure_category", "duration_ms", "queue_ms", "backoff_ms", "score_ms",
    "first_token_ms", "retries", "tokens_prompt", "tokens_completion", "cost_usd", "cost_source", "model", "scores", "checks",
    "repeated", "cached",
)  # fmt: skip
_NODE_ROW = (
    *_raw(trials, "config"),
    *_raw(
        node_runs, "node_id", "attempt", "status", "duration_ms", "tokens_prompt", "tokens_completion", "cost_usd", "cost_source", "error"
    ),
)


class Trials:
    """The part of a Store that reads trials."""

    _database: Database

    def finished_run_ids(self, bench_uid: str) -> set[str]:
        """Every trial that has a result, good or bad."""
        return self._run_ids(trials.c.bench_uid == bench_uid)

    def count_trials(self, bench_uid: str) -> int:
        """How many have a result, good or bad."""
        with self._database.reading() as connection:
            return connection.scalar(select(func.count()).where(trials.c.bench_uid == bench_uid)) or 0

    def failed_run_ids(self, bench_uid: str, infrastructure_only: bool = True) -> set[str]:
        """Trials that failed for reasons that are not the target's; or all that did not succeed."""
        failed: ColumnElement[bool] = trials.c.failure_category.in_(sorted(INFRASTRUCTURE))
        if not infrastructure_only:
            failed = or_(trials.c.status != "success", trials.c.passed == 0, trials.c.failure_category != "")
        return self._run_ids(trials.c.bench_uid == bench_uid, failed)

    def get_trial(self, run_id: str, bench: str | None = None) -> tuple[BenchRecord, Trial]:
        """By run id or its beginning. UsageError where several benches, or several trials, have it and `bench` is not given."""
        with self._database.reading() as connection:
            # Trials are found within a bench: one look for each, because an index of run ids alone would cost every insert.
            uids = select(benches.c.uid) if bench is None else [find_bench(connection, bench).uid]
            for named in (trials.c.run_id == run_id, begins_with(trials.c.run_id, run_id)):
                query = select(trials.c.bench_uid, *_WHOLE[1:]).where(trials.c.bench_uid.in_(uids), named).limit(2)
                rows = connection.execute(query).mappings().all() if run_id else []
                if len(rows) > 1:
                    raise UsageError(f"Several trials begin with {run_id}.", remedy="Name the bench too, or give more of the run id.")
                if rows:
                    return find_bench(connection, rows[0]["bench_uid"]), read_trial(rows[0])
        raise NotFound(f"No trial {run_id!r} is stored.", remedy="Run ids stand in a bench's JSON and HTML reports.")

    def list_trials(
        self,
        bench: str,
        cursor: str | None = None,
        limit: int = DEFAULT_LIMIT,
        *,
        config: str | None = None,
        case: str | None = None,
        status: TrialStatus | None = None,
        failed: bool = False,
        with_output: bool = False,
    ) -> Page[Trial]:
        """In the order in which they were planned. Outputs are left out unless asked for: they may be large."""
        asked = ((trials.c.config, config), (trials.c.case_name, case), (trials.c.status, status))
        with self._database.reading() as connection:
            uid = find_bench(connection, bench).uid
            query: Select[Any] = select(*(_WHOLE if with_output else _SUMMARY)).where(trials.c.bench_uid == uid)
            query = query.where(*(column == value for column, value in asked if value is not None))
            if failed:
                query = query.where(trials.c.failure_category != "")
            order = Order(f"trials of {uid}", trials.c.position, tie=trials.c.run_id)
            return fetch_page(connection, query, order, read_trial, cursor, limit)

    def iter_trials(self, bench_uid: str, *, with_output: bool = True) -> Iterator[Trial]:
        """All of a bench, in the order in which they were planned."""
        query = select(*(_WHOLE if with_output else _SUMMARY)).where(trials.c.bench_uid == bench_uid).order_by(*_IN_ORDER)
        with self._database.snapshot() as connection:
            yield from map(read_trial, connection.execute(query).mappings())

    def trial_rows(self, bench_uid: str) -> Iterator[TrialRow]:
        """What aggregation needs of each trial, as a plain tuple: see TrialRow. Scores and checks are JSON text, never None."""
        for row in self._stream(select(*_TRIAL_ROW).where(trials.c.bench_uid == bench_uid).order_by(trials.c.position)):
            config, case, status, passed, *middle, model, scores, checks, repeated, cached = row
            names = (unescape(config), unescape(case), status, _TRUTH[passed])
            yield (*names, *middle, unescape(model), scores or "{}", checks or "[]", repeated, cached == 1)

    def node_rows(self, bench_uid: str) -> Iterator[NodeRow]:
        """What aggregation needs of each node run of each trial, as a plain tuple: see NodeRow. No failure: an empty kind.

        A cached answer was made elsewhere: its nodes are not run, and not counted, here.
        """
        joined = trials.join(node_runs, node_runs.c.play_sid == trials.c.play_sid)
        of_it = (trials.c.bench_uid == bench_uid, trials.c.play_sid != "", trials.c.cached == 0)
        for row in self._stream(select(*_NODE_ROW).select_from(joined).where(*of_it).order_by(trials.c.position)):
            config, node_id, *middle, error = row
            yield (unescape(config), unescape(node_id), *middle, "" if error is None else _kind(error).kind)

    def spent(self, bench_uid: str) -> tuple[float | None, int]:
        """What the trials so far cost, judges too, and how many there are. None where one of them has no known price."""
        query = select(func.count(), func.count(trials.c.cost_usd), func.sum(trials.c.cost_usd)).where(trials.c.bench_uid == bench_uid)
        with self._database.reading() as connection:
            count, priced, total = connection.execute(query).one()
        judges_usd = self._judges_usd(bench_uid)
        return (None if priced < count or judges_usd is None else float(total or 0.0) + judges_usd), int(count)

    def _judges_usd(self, bench_uid: str) -> float | None:
        judged = type_coerce(trials.c.checks, Text).like('%"usage"%')
        total = 0.0
        for (checks,) in self._stream(select(type_coerce(trials.c.checks, Text)).where(trials.c.bench_uid == bench_uid, judged)):
            if (cost_usd := judge_cost_usd(_checks(checks))) is None:
                return None
            total += cost_usd
        return total

    def mean_cost_and_duration(self, definition_hash: str) -> dict[str, tuple[float | None, float]]:
        """Per configuration, of all successful trials of a definition that were not cached: what the next will take."""
        same = select(benches.c.uid).where(benches.c.definition_hash == definition_hash)
        cost, duration = func.avg(trials.c.cost_usd), func.avg(trials.c.duration_ms)
        query = (
            select(trials.c.config, func.count(), func.count(trials.c.cost_usd), cost, duration)
            .where(trials.c.bench_uid.in_(same), trials.c.status == "success", trials.c.cached == 0)
            .group_by(trials.c.config)
        )
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
        return {config: (None if priced < count else mean_cost, mean_ms) for config, count, priced, mean_cost, mean_ms in rows}

    def _run_ids(self, *which: ColumnElement[bool]) -> set[str]:
        return {row[0] for row in self._stream(select(type_coerce(trials.c.run_id, Text)).where(*which))}

    def _stream(self, query: Select[Any]) -> Iterator[Any]:
        with self._database.snapshot() as connection:
            yield from connection.execution_options(yield_per=_ROWS_AT_ONCE).execute(query)

"""The tables as queries know them.

`migrations` makes them; a test holds the two together. JSON values are TEXT,
NULL where the value is its field's default. No foreign keys: plays and trials are
written in bulk, and what may not be deleted is checked where deleting is asked for.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import BigInteger, Column, Double, Integer, LargeBinary, MetaData, Table, Text
from sqlalchemy.engine import Dialect
from sqlalchemy.types import TypeDecorator

from flowgauge.store.plain import escape, unescape


class Plain(TypeDecorator[str]):
    """Text in which a NUL character, which PostgreSQL refuses, is escaped and comes back as it was."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, _dialect: Dialect) -> str | None:
        """On the way in."""
        return value if value is None else escape(value)

    def process_result_value(self, value: Any, _dialect: Dialect) -> str | None:
        """On the way out."""
        return value if value is None else unescape(value)


metadata = MetaData()

meta = Table("meta", metadata, Column("key", Text, primary_key=True), Column("value", Text, nullable=False))

workflows = Table(
    "workflows",
    metadata,
    Column("sid", Plain, primary_key=True),
    Column("name", Plain, nullable=False),
    Column("description", Plain, nullable=False),
    Column("current_version_sid", Plain, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("updated_at", BigInteger, nullable=False),
)

workflow_versions = Table(
    "workflow_versions",
    metadata,
    Column("sid", Plain, primary_key=True),
    Column("workflow_sid", Plain, nullable=False),
    Column("number", Integer, nullable=False),
    Column("hash", Plain, nullable=False),
    Column("content", LargeBinary, nullable=False),
    Column("created_at", BigInteger, nullable=False),
)

examples = Table(
    "examples",
    metadata,
    Column("sid", Plain, primary_key=True),
    Column("workflow_sid", Plain, nullable=False),
    Column("workflow_version_sid", Plain, nullable=False),
    Column("name", Plain, nullable=False),
    Column("description", Plain, nullable=False),
    Column("input_values", Text),
    Column("created_at", BigInteger, nullable=False),
)

owners = Table(
    "owners",
    metadata,
    Column("sid", Plain, primary_key=True),
    Column("host", Plain, nullable=False),
    Column("pid", BigInteger, nullable=False),
    Column("pid_started", BigInteger, nullable=False),
    Column("boot_id", Plain, nullable=False),
    Column("lease_until", BigInteger, nullable=False),
)

plays = Table(
    "plays",
    metadata,
    Column("sid", Plain, primary_key=True),
    Column("workflow_sid", Plain, nullable=False),
    Column("version_sid", Plain, nullable=False),
    Column("name", Plain, nullable=False),
    Column("status", Text, nullable=False),
    Column("inputs", Text),
    Column("config", Text),
    Column("pins", Text),
    Column("output", Text),
    Column("started_at", BigInteger, nullable=False),
    Column("duration_ms", Double, nullable=False),
    Column("retries", BigInteger, nullable=False),
    Column("tokens_prompt", BigInteger, nullable=False),
    Column("tokens_completion", BigInteger, nullable=False),
    Column("cost_usd", Double),
    Column("cost_source", Text, nullable=False),
    Column("price_table", Plain, nullable=False),
    Column("isolation", Plain, nullable=False),
    Column("error", Text),
    Column("warnings", Text),
    Column("owner_sid", Plain, nullable=False),
    Column("resumed", BigInteger, nullable=False),
    Column("finished_at", BigInteger),
    Column("cancel_requested", Integer, nullable=False, server_default="0"),
)

node_runs = Table(
    "node_runs",
    metadata,
    Column("seq", BigInteger, nullable=False),
    Column("play_sid", Plain, primary_key=True),
    Column("node_id", Plain, primary_key=True),
    Column("attempt", Integer, primary_key=True, autoincrement=False),
    Column("status", Text, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("duration_ms", Double, nullable=False),
    Column("queue_ms", Double, nullable=False),
    Column("backoff_ms", Double, nullable=False),
    Column("first_token_ms", Double),
    Column("model", Plain, nullable=False),
    Column("tokens_prompt", BigInteger, nullable=False),
    Column("tokens_completion", BigInteger, nullable=False),
    Column("cost_usd", Double),
    Column("cost_source", Text, nullable=False),
    Column("output", Text),
    Column("error", Text),
    Column("steps", Text),
)

benches = Table(
    "benches",
    metadata,
    Column("uid", Plain, primary_key=True),
    Column("bench_id", Plain, nullable=False),
    Column("name", Plain, nullable=False),
    Column("definition_hash", Plain, nullable=False),
    Column("counter", Integer, nullable=False),
    Column("status", Text, nullable=False),
    Column("definition", Text, nullable=False),
    Column("cases", Text, nullable=False),
    Column("total", BigInteger, nullable=False),
    Column("version_sid", Plain, nullable=False),
    Column("owner_sid", Plain, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("finished_at", BigInteger, nullable=False),
    Column("duration_ms", Double, nullable=False),
    Column("interruptions", BigInteger, nullable=False),
    Column("commit", Plain, nullable=False),
    Column("machine", Plain, nullable=False),
    Column("price_table", Plain, nullable=False),
    Column("trace_id", Plain, nullable=False),
    Column("planned_as", Plain, nullable=False),
    Column("cancel_requested", Integer, nullable=False, server_default="0"),
)

trials = Table(
    "trials",
    metadata,
    Column("seq", BigInteger, nullable=False),
    Column("bench_uid", Plain, primary_key=True),
    Column("run_id", Plain, primary_key=True),
    Column("position", BigInteger, nullable=False),
    Column("config", Plain, nullable=False),
    Column("case_name", Plain, nullable=False),
    Column("repetition", BigInteger, nullable=False),
    Column("status", Text, nullable=False),
    Column("passed", Integer),
    Column("failure_category", Plain, nullable=False),
    Column("started_at", BigInteger, nullable=False),
    Column("duration_ms", Double, nullable=False),
    Column("queue_ms", Double, nullable=False),
    Column("backoff_ms", Double, nullable=False),
    Column("score_ms", Double, nullable=False),
    Column("first_token_ms", Double),
    Column("retries", BigInteger, nullable=False),
    Column("tokens_prompt", BigInteger, nullable=False),
    Column("tokens_completion", BigInteger, nullable=False),
    Column("cost_usd", Double),
    Column("cost_source", Text, nullable=False),
    Column("model", Plain, nullable=False),
    Column("repeated", BigInteger, nullable=False),
    Column("cached", Integer, nullable=False),
    Column("play_sid", Plain, nullable=False),
    Column("scores", Text),
    Column("target_scores", Text),
    Column("checks", Text),
    Column("error", Text),
    Column("output", Text),
    Column("nodes", Text),
)
"""What is large stands last: a row is then read as far as it is needed."""

benchmarks = Table(
    "benchmarks",
    metadata,
    Column("sid", Plain, primary_key=True),
    Column("bench_uid", Plain, nullable=False),
    Column("bench_id", Plain, nullable=False),
    Column("config", Plain, nullable=False),
    Column("workflow_sid", Plain, nullable=False),
    Column("workflow_version_sid", Plain, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("num_runs", BigInteger, nullable=False),
    Column("success_rate", Double, nullable=False),
    Column("avg_duration_ms", Double),
    Column("min_duration_ms", Double),
    Column("max_duration_ms", Double),
    Column("total_retries", BigInteger, nullable=False),
    Column("avg_tokens_prompt", Double),
    Column("avg_tokens_completion", Double),
    Column("estimated_cost_usd", Double),
    Column("cost_source", Text, nullable=False),
    Column("difficulty_rating", Double, nullable=False),
    Column("notes", Plain, nullable=False),
    Column("stats", Text),
    Column("fingerprint", Text),
    Column("tags", Text),
    Column("commit", Plain, nullable=False),
    Column("kind", Text, nullable=False),
    Column("subject", Plain, nullable=False, server_default=""),
    Column("metrics", Text),
)

baselines = Table(
    "baselines",
    metadata,
    Column("name", Plain, primary_key=True),
    Column("benchmark_sid", Plain, nullable=False),
    Column("set_at", BigInteger, nullable=False),
    Column("note", Plain, nullable=False),
)

baseline_history = Table(
    "baseline_history",
    metadata,
    Column("name", Plain, primary_key=True),
    Column("set_at", BigInteger, primary_key=True, autoincrement=False),
    Column("benchmark_sid", Plain, nullable=False),
    Column("note", Plain, nullable=False),
)
"""What stood under a name before."""

answers = Table(
    "answers",
    metadata,
    Column("key", Plain, primary_key=True),
    Column("created_at", BigInteger, nullable=False),
    Column("answer", Text, nullable=False),
)
"""What targets answered, for `bench --cache`."""

tokens = Table(
    "tokens",
    metadata,
    Column("sid", Plain, primary_key=True),
    Column("name", Plain, nullable=False),
    Column("scope", Text, nullable=False),
    Column("hash", Plain, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("last_used_at", BigInteger, nullable=False),
    Column("expires_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger, nullable=False),
)

schedules = Table(
    "schedules",
    metadata,
    Column("sid", Plain, primary_key=True),
    Column("name", Plain, nullable=False),
    Column("cron", Plain, nullable=False),
    Column("every_s", BigInteger, nullable=False),
    Column("late_s", BigInteger, nullable=False),
    Column("request", Text, nullable=False),
    Column("baseline", Plain, nullable=False),
    Column("policy", Text),
    Column("webhook", Plain, nullable=False),
    Column("enabled", Integer, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("next_at", BigInteger, nullable=False),
    Column("last_at", BigInteger, nullable=False),
    Column("last_status", Text, nullable=False),
    Column("last_bench_id", Plain, nullable=False),
    Column("last_words", Plain, nullable=False),
    Column("running_at", BigInteger, nullable=False),
    Column("skipped", BigInteger, nullable=False),
    Column("owner_sid", Plain, nullable=False),
)

events = Table(
    "events",
    metadata,
    Column("id", BigInteger, primary_key=True, autoincrement=False),
    Column("kind", Plain, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("play_sid", Plain, nullable=False),
    Column("bench_id", Plain, nullable=False),
    Column("data", Text),
)

PORTABLE: tuple[Table, ...] = (
    workflows, workflow_versions, examples, owners, plays, node_runs, benches, trials, benchmarks, baselines, baseline_history, schedules,
    answers,
)  # fmt: skip
"""All that an export holds, in an order in which it can be read back. Tokens are this store's own; events are news, and old elsewhere."""

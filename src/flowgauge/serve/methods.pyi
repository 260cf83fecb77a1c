"""Made from the table of operations by tests/serve/client_stub.py; do not edit."""

from typing import Any, Literal

from flowgauge.app.agents import AgentVersion
from flowgauge.app.operations.benches import BenchView
from flowgauge.app.operations.benchmark_flow import Measured, Prepared, Report
from flowgauge.app.operations.benchmark_views import BenchmarkView, PerRunResult
from flowgauge.app.operations.examples import ExampleSaved
from flowgauge.app.operations.health import Health
from flowgauge.app.operations.operation import Done
from flowgauge.app.operations.plays import Events, PlayView
from flowgauge.app.operations.schedules import ScheduleSaved
from flowgauge.app.operations.templates import Templates
from flowgauge.app.operations.workflows import VersionDiff, VersionItem, VersionView, WorkflowSaved, WorkflowView
from flowgauge.app.recording import GivenRun
from flowgauge.model.service import Schedule
from flowgauge.model.verdict import Baseline, Comparison, GateResult, Trend
from flowgauge.model.workflow import Example, WorkflowRecord
from flowgauge.registry.adapter import Description
from flowgauge.registry.agents.changes import AgentChanges, AgentTrend
from flowgauge.registry.agents.snapshot import AgentSnapshot, Sections
from flowgauge.registry.agents.validation import Validation
from flowgauge.registry.review.decision import Review
from flowgauge.registry.snapshot import Snapshot
from flowgauge.registry.upgrade import UpgradeCheck
from flowgauge.store.page import Page

class Methods:
    def call(self, name: str, /, **params: Any) -> Any: ...
    def workflow_list(self, *, cursor: str = ..., limit: int = ...) -> Page[WorkflowRecord]:
        """All workflows, by name."""
    def workflow_find(self, *, cursor: str = ..., limit: int = ..., text: str) -> Page[WorkflowRecord]:
        """Workflows with a text in their name or description, by name."""
    def workflow_get(self, *, sid: str, version_sid: str = ...) -> WorkflowView:
        """A workflow with its declared inputs and the definition of one version."""
    def workflow_set(self, *, definition: dict[str, Any] | None = ..., text: str = ..., make_current: bool = ...) -> WorkflowSaved:
        """Save a definition as a version of the workflow that it names."""
    def workflow_delete(self, *, sid: str, force: bool = ...) -> Done:
        """Delete a workflow with its versions and examples."""
    def workflow_version_list(self, *, cursor: str = ..., limit: int = ..., workflow_sid: str) -> Page[VersionItem]:
        """The versions of a workflow, newest first."""
    def workflow_version_fetch(self, *, version_sid: str) -> VersionView:
        """One version with its definition."""
    def workflow_version_diff(self, *, old_version_sid: str, new_version_sid: str) -> VersionDiff:
        """What changed from one version to another."""
    def workflow_version_make_current(self, *, version_sid: str) -> WorkflowRecord:
        """Put a version in use."""
    def example_list(self, *, cursor: str = ..., limit: int = ..., workflow_sid: str) -> Page[Example]:
        """The examples of a workflow, by name."""
    def example_get(self, *, workflow_sid: str, sid: str) -> Example:
        """One example."""
    def example_set(self, *, workflow_sid: str, name: str, input_values: dict[str, Any], description: str = ...) -> ExampleSaved:
        """Store inputs under a name, or change those that stand under it."""
    def example_delete(self, *, workflow_sid: str, sid: str) -> Done:
        """Delete an example."""
    def play_start(
        self,
        *,
        workflow_sid: str,
        input_data: dict[str, Any] | str = ...,
        name: str = ...,
        version_sid: str = ...,
        example_sid: str = ...,
        config: dict[str, Any] = ...,
    ) -> PlayView:
        """Start a play of a workflow; answers at once while it goes on in the background."""
    def play_get(self, *, sid: str, with_runs: bool = ...) -> PlayView:
        """A play as it stands now."""
    def play_list(
        self,
        *,
        cursor: str = ...,
        limit: int = ...,
        workflow_sid: str = ...,
        status: Literal["pending", "running", "success", "failed", "timeout", "cancelled", "budget_exceeded"] | None = ...,
        since: int = ...,
        with_values: bool = ...,
    ) -> Page[PlayView]:
        """Plays, newest first."""
    def play_cancel(self, *, sid: str) -> PlayView:
        """Ask for a play's end."""
    def play_delete(self, *, sid: str) -> Done:
        """Delete a play that has ended."""
    def play_events(self, *, sid: str = ..., bench_id: str = ..., after: int = ..., limit: int = ..., wait_s: float = ...) -> Events:
        """What happened after an event that was seen last, of one play, one bench or all; waits where asked to."""
    def benchmark_get(self, *, sid: str, with_runs: bool = ..., runs_limit: int = ...) -> BenchmarkView:
        """A benchmark with its statistics and the first of its runs."""
    def benchmark_runs(self, *, cursor: str = ..., limit: int = ..., sid: str, failed: bool = ...) -> Page[PerRunResult]:
        """The runs of a benchmark, page by page, in the order in which they were planned."""
    def benchmark_list(
        self, *, cursor: str = ..., limit: int = ..., with_runs: bool = ..., runs_limit: int = ..., with_stats: bool = ...
    ) -> Page[BenchmarkView]:
        """All benchmarks, newest first."""
    def benchmark_find(
        self,
        *,
        cursor: str = ...,
        limit: int = ...,
        with_runs: bool = ...,
        runs_limit: int = ...,
        with_stats: bool = ...,
        workflow_sid: str = ...,
        workflow_version_sid: str = ...,
        bench_id: str = ...,
        config: str | None = ...,
        name: str = ...,
        name_prefix: str = ...,
        subject: str = ...,
        commit: str = ...,
        kind: Literal["bench", "ingested", "perf", "snapshot"] | None = ...,
        tags: dict[str, str] = ...,
        before: int = ...,
    ) -> Page[BenchmarkView]:
        """Benchmarks that fit all that is asked, newest first."""
    def benchmark_list_for_workflow(
        self,
        *,
        cursor: str = ...,
        limit: int = ...,
        with_runs: bool = ...,
        runs_limit: int = ...,
        with_stats: bool = ...,
        workflow_sid: str,
    ) -> Page[BenchmarkView]:
        """The benchmarks of all versions of a workflow, newest first."""
    def benchmark_list_for_version(
        self,
        *,
        cursor: str = ...,
        limit: int = ...,
        with_runs: bool = ...,
        runs_limit: int = ...,
        with_stats: bool = ...,
        workflow_version_sid: str,
    ) -> Page[BenchmarkView]:
        """The benchmarks of one version, newest first."""
    def benchmark_latest_for_version(self, *, workflow_version_sid: str, config: str | None = ...) -> BenchmarkView | None:
        """The newest benchmark of a version; null where there is none."""
    def benchmark_delete(self, *, sid: str) -> Done:
        """Delete a benchmark; its runs stay with its bench."""
    def benchmark_compare(self, *, candidate: str, baseline: str, policy: dict[str, Any] = ..., with_nodes: bool = ...) -> Comparison:
        """Hold one benchmark against another: a verdict for each metric, with its uncertainty."""
    def benchmark_trend(
        self, *, subject: str, metrics: tuple[str, ...] = ..., config: str | None = ..., last: int = ...
    ) -> tuple[Trend, ...]:
        """Metrics over all benchmarks of a workflow or subject, with change points."""
    def benchmark_set(
        self,
        *,
        sid: str = ...,
        workflow_sid: str = ...,
        workflow_version_sid: str = ...,
        subject: str = ...,
        config: str = ...,
        created_at: int = ...,
        num_runs: int | None = ...,
        success_rate: float | None = ...,
        avg_duration_ms: float | None = ...,
        min_duration_ms: float | None = ...,
        max_duration_ms: float | None = ...,
        total_retries: int | None = ...,
        avg_tokens_prompt: float | None = ...,
        avg_tokens_completion: float | None = ...,
        estimated_cost_usd: float | None = ...,
        difficulty_rating: float | None = ...,
        runs: tuple[GivenRun, ...] = ...,
        notes: str | None = ...,
        tags: dict[str, str] | None = ...,
        commit: str = ...,
    ) -> BenchmarkView:
        """Store a benchmark that was measured elsewhere, or change the notes, tags and difficulty of a stored one."""
    def benchmark_start(
        self,
        *,
        workflow_sid: str = ...,
        workflow_version_sid: str = ...,
        configs: dict[str, Any] | list[Any] = ...,
        name: str = ...,
        runs: int | None = ...,
        max_concurrency: int | None = ...,
        limit: int | None = ...,
        seed: int | None = ...,
        budget_usd: float | None = ...,
        timeout_s: float | None = ...,
        cache: bool | None = ...,
        tags: dict[str, str] = ...,
        bench_id: str = ...,
    ) -> BenchView:
        """Measure a workflow in the background: configurations × cases × runs; answers at once with the bench's id."""
    def bench_get(self, *, bench_id: str) -> BenchView:
        """How far a bench is."""
    def bench_list(self, *, cursor: str = ..., limit: int = ...) -> Page[BenchView]:
        """Benches, newest first."""
    def bench_cancel(self, *, bench_id: str) -> BenchView:
        """Stop a bench; what was measured stays."""
    def benchmark_prepare(self, *, workflow_sid: str, workflow_version_sid: str = ..., num_runs: int = ...) -> Prepared:
        """What a benchmark with made-up inputs needs to know of a workflow: its inputs, its examples, what to ask a model for."""
    def benchmark_measure(
        self,
        *,
        workflow_sid: str,
        workflow_version_sid: str = ...,
        input_sets: tuple[dict[str, Any], ...] = ...,
        num_runs: int = ...,
        bench_id: str = ...,
        name: str = ...,
        max_concurrency: int | None = ...,
        timeout_s: float | None = ...,
        tags: dict[str, str] = ...,
    ) -> Measured:
        """Run a workflow once with each of some input sets, and store the benchmark; answers when it is done."""
    def benchmark_report(self, *, sid: str) -> Report:
        """A stored benchmark as a short text."""
    def baseline_set(self, *, name: str, benchmark_sid: str, note: str = ...) -> Baseline:
        """Put a benchmark under a name that others are held against."""
    def baseline_get(self, *, name: str) -> Baseline:
        """One baseline."""
    def baseline_list(self, *, cursor: str = ..., limit: int = ...) -> Page[Baseline]:
        """Baselines, by name."""
    def baseline_history(self, *, cursor: str = ..., limit: int = ..., name: str) -> Page[Baseline]:
        """What stood under a baseline's name before, newest first."""
    def baseline_delete(self, *, name: str) -> Done:
        """Forget a baseline."""
    def gate_run(self, *, candidate: str, baseline: str, policy: dict[str, Any] = ..., policy_name: str = ...) -> GateResult:
        """Judge a benchmark against a baseline by a policy: passed, failed or not measured."""
    def schedule_list(self, *, cursor: str = ..., limit: int = ...) -> Page[Schedule]:
        """All schedules, by name."""
    def schedule_get(self, *, name: str) -> Schedule:
        """One schedule, with its next moment and what came of the last."""
    def schedule_set(
        self,
        *,
        name: str,
        cron: str | None = ...,
        every_s: int | None = ...,
        late_s: int | None = ...,
        request: dict[str, Any] | None = ...,
        baseline: str | None = ...,
        policy: dict[str, Any] | None = ...,
        webhook: str | None = ...,
        enabled: bool | None = ...,
    ) -> ScheduleSaved:
        """Define a schedule, or change the one of that name."""
    def schedule_delete(self, *, name: str) -> Done:
        """Delete a schedule."""
    def schedule_run_now(self, *, name: str) -> Schedule:
        """Run a schedule now, beside its moments; answers at once."""
    def snapshot_capture(self, *, version: str, git_sha: str = ..., tier: Literal["fast", "heavy", "all"] = ...) -> Snapshot:
        """Run the adapters of a tier and keep what they measure under a version."""
    def snapshot_get(self, *, version: str) -> Snapshot:
        """One snapshot."""
    def snapshot_list(self) -> tuple[Snapshot, ...]:
        """All snapshots, oldest first."""
    def snapshot_compare(
        self, *, old: str, new: str, tier: Literal["fast", "heavy", "dynamic"] = ..., tolerance: float = ...
    ) -> Comparison:
        """Hold the metrics of one version against another's, by bare thresholds."""
    def upgrade_check(self, *, old: str, new: str, strict: bool = ...) -> UpgradeCheck:
        """Tell whether a version may take the place of another, by their fast-tier metrics."""
    def adapter_list(self) -> tuple[Description, ...]:
        """The adapters of the registry, and what each would miss."""
    def agent_capture(
        self,
        *,
        prompt_id: str,
        flow_id: str,
        trigger: Literal["creation", "recipe_change", "prompt_change", "intelligence_change", "autoresearch_improvement"],
        user_id: str = ...,
        user_prompt: str = ...,
        sections: Sections = ...,
        last: int = ...,
    ) -> AgentSnapshot | None:
        """Keep how an agent does now as the next version of its baseline."""
    def agent_validate(
        self, *, prompt_id: str, flow_id: str, sections: Sections = ..., last: int = ..., min_plays: int = ...
    ) -> Validation:
        """Tell whether an agent still does as well as its baseline."""
    def agent_compare(self, *, prompt_id: str, flow_id: str, old_version: int, new_version: int) -> AgentChanges:
        """What changed from one snapshot of an agent to another."""
    def agent_trend(self, *, prompt_id: str, flow_id: str) -> AgentTrend:
        """Where an agent is going, over all its snapshots."""
    def agent_get(self, *, prompt_id: str, flow_id: str, version: int = ...) -> AgentSnapshot:
        """One snapshot of an agent."""
    def agent_list(self, *, prompt_id: str = ..., flow_id: str = ...) -> tuple[AgentVersion, ...]:
        """The snapshots of an agent, or of all, by version."""
    def agent_delete(self, *, prompt_id: str, flow_id: str, version: int = ...) -> Done:
        """Delete one snapshot of an agent, or all of them."""
    def review_run(
        self,
        *,
        base: str,
        head: str = ...,
        candidate: str = ...,
        baseline: str = ...,
        policy: dict[str, Any] = ...,
        agents: tuple[str, ...] = ...,
        old_version: str = ...,
        new_version: str = ...,
        without: tuple[Literal["lint", "baseline"], ...] = ...,
    ) -> Review:
        """Review a change of the server's repository: size, lint, tests and baselines; approve, steward, reject or not measured."""
    def template_list(self) -> Templates:
        """The workflows that come with Flowgauge."""
    def workflow_from_template(self, *, name: str, make_current: bool = ...) -> WorkflowSaved:
        """Store a workflow that comes with Flowgauge, such as benchmark_flow, so that it can be played."""
    def health(self) -> Health:
        """Is the server there, and what runs."""

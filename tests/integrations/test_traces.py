"""Traces at a real OTLP receiver on loopback: one tree, the ids of the report, and no harm where nobody listens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.integrations.otlp_receiver import Received, Receiver, receiving

import flowgauge as fg
from flowgauge.integrations import otel
from flowgauge.store import open_store

EXAMPLES = Path(__file__).parents[2] / "examples" / "bench"
ERROR = 2
CLIENT = 3

WORKFLOW = {
    "name": "shaky",
    "inputs": [{"name": "word", "type": "string", "required": True}],
    "config": {"provider": "mock", "model": "default"},
    "nodes": [
        {"id": "ask", "type": "ai", "prompt": "Say {{ inputs.word }}"},
        {"id": "each", "type": "map", "needs": ["ask"], "over": [1, 2], "each": {"type": "ai", "prompt": "Say {{ item }}"}},
        {
            "id": "count",
            "type": "python",
            "needs": ["ask"],
            "code": "def run(word):\n    return 1 / len(word)",
            "with": {"word": "{{ inputs.word }}"},
        },
    ],
}


@pytest.fixture
def receiver(monkeypatch: pytest.MonkeyPatch) -> Iterator[Receiver]:
    for name in [name for name in os.environ if name.startswith("OTEL_")]:
        monkeypatch.delenv(name)
    with receiving() as opened:
        monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", opened.url)
        yield opened


@pytest.fixture
def db(tmp_path: Path) -> str:
    return str(tmp_path / "store.db")


def noop() -> int:
    return 1


def assert_one_tree(receiver: Receiver) -> Received:
    """One root; every other span hangs on one that is there, in the same trace, within its time."""
    (root,) = receiver.roots()
    by_id = {span.span_id: span for span in receiver.spans}
    assert len(by_id) == len(receiver.spans)
    for span in receiver.spans:
        assert span.trace_id == root.trace_id
        assert span.start_ns <= span.end_ns
        if span is not root:
            above = by_id[span.parent_id]
            assert above.start_ns <= span.start_ns
            assert span.end_ns <= above.end_ns + 2 * otel.NS_PER_MS, (above.name, span.name)  # moments are whole milliseconds
    return root


def test_a_bench_from_the_command_line_is_one_tree_with_the_ids_of_its_report(receiver: Receiver, tmp_path: Path) -> None:
    arguments = ["bench", str(EXAMPLES / "support.yaml"), "--configs", str(EXAMPLES / "configs.yaml"), "--runs", "2", "--json"]
    command = [sys.executable, "-m", "flowgauge", *arguments, "--db", str(tmp_path / "store.db")]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    report = json.loads(done.stdout)
    root = assert_one_tree(receiver)
    record = report["summary"]["bench"]
    assert root.name == "bench:support-shootout"
    assert root.trace_id == record["trace_id"]
    expected = {
        "bench.name": "support-shootout",
        "bench.id": record["bench_id"],
        "bench.total_runs": 12,
        "bench.duration_ms": record["duration_ms"],
        "bench.success_rate": 1.0,
        "bench.cheapest_config": report["summary"]["cheapest"]["config"],
        "bench.fastest_config": report["summary"]["fastest"]["config"],
        "bench.status": "finished",
    }
    assert root.attributes == expected
    assert receiver.resources[0]["service.name"] == "flowgauge"

    runs = receiver.below(root)
    assert {run.name for run in runs} == {"invoke_workflow support"}
    trials = {trial["run_id"]: trial for trial in report["trials"]}
    assert sorted(run.attributes["bench.run_id"] for run in runs) == sorted(trials)
    for run in runs:
        trial = trials[run.attributes["bench.run_id"]]
        assert (run.attributes["bench.config"], run.attributes["bench.case"]) == (trial["config"], trial["case"])
        assert run.attributes["gen_ai.usage.input_tokens"] == trial["answer"]["tokens_prompt"]
        nodes = receiver.below(run)
        assert sorted(node.name for node in nodes) == ["execute_tool answer", "execute_tool classify"]
        chats = [chat for node in nodes for chat in receiver.below(node)]
        assert sum(chat.attributes["gen_ai.usage.output_tokens"] for chat in chats) == trial["answer"]["tokens_completion"]
    for chat in receiver.named("chat "):
        assert chat.attributes["gen_ai.provider.name"] == "mock"
        assert chat.name == f"chat {chat.attributes['gen_ai.request.model']}"
        assert chat.kind == CLIENT
    assert len(receiver.named("chat ")) == 24


def test_failures_and_nodes_within_nodes_are_where_they_happened(receiver: Receiver, db: str, tmp_path: Path) -> None:
    file = tmp_path / "shaky.json"
    file.write_bytes(msgspec.json.encode(WORKFLOW))
    cases = [{"name": "good", "inputs": {"word": "hello"}}, {"name": "empty", "inputs": {"word": ""}}]
    checks = [{"type": "equals", "path": "nodes.count.output", "value": 0.5}]
    result = fg.bench(file, {"cases": cases, "checks": checks}, db=db)
    root = assert_one_tree(receiver)
    assert root.attributes["bench.success_rate"] == 0.0
    runs = {run.attributes["bench.case"]: run for run in receiver.below(root)}
    assert runs["good"].attributes["error.type"] == "wrong_answer"
    assert runs["good"].attributes["bench.passed"] is False
    assert runs["empty"].attributes["error.type"] == "code_error"
    assert runs["empty"].status == ERROR
    nodes = {node.name: node for node in receiver.below(runs["empty"])}
    assert nodes["execute_tool count"].attributes["error.type"] == "code_error"
    assert "error.type" not in nodes["execute_tool ask"].attributes
    inner = [span.name for span in receiver.below({node.name: node for node in receiver.below(runs["good"])}["execute_tool each"])]
    assert sorted(inner) == ["execute_tool each[0]", "execute_tool each[1]"]
    assert {trial.run_id for trial in result.trials()} == {run.attributes["bench.run_id"] for run in runs.values()}


def test_two_thousand_trials_lose_no_span(receiver: Receiver, db: str) -> None:
    result = fg.bench(noop, runs=2000, db=db, max_concurrency=50)
    assert result.outcome.warnings == ()
    root = assert_one_tree(receiver)
    assert len(receiver.spans) == 2001
    assert {run.attributes["bench.run_id"] for run in receiver.below(root)} == {trial.run_id for trial in result.trials()}
    assert receiver.requests == -(-2001 // otel.BATCH_SPANS)


def test_what_nobody_knows_is_no_attribute(receiver: Receiver, db: str) -> None:
    fg.bench(noop, db=db)
    (root,) = receiver.roots()
    (run,) = receiver.below(root)
    assert "bench.cheapest_config" not in root.attributes
    assert not {"gen_ai.usage.input_tokens", "flowgauge.cost_usd", "gen_ai.request.model", "error.type"} & run.attributes.keys()


def test_a_bench_that_is_taken_up_again_sends_a_whole_trace_linked_to_the_first(receiver: Receiver, db: str) -> None:
    first = fg.bench(noop, db=db, runs=2)
    (first_root,) = receiver.roots()
    receiver.spans.clear()
    again = fg.bench(noop, db=db, runs=5, extend=first.bench_id)
    root = assert_one_tree(receiver)
    assert again.bench_id == first.bench_id
    assert root.trace_id != first_root.trace_id
    assert root.links == [(first_root.trace_id, first_root.span_id)]
    assert root.start_ns == first_root.start_ns
    assert len(receiver.below(root)) == root.attributes["bench.total_runs"] == 5
    with open_store(db) as store:
        assert store.get_bench(first.bench_id).trace_id == root.trace_id


def test_a_bench_that_was_killed_has_all_its_trials_in_the_trace_of_its_resumption(receiver: Receiver, tmp_path: Path, db: str) -> None:
    (tmp_path / "slow.py").write_text(
        "import os, pathlib, time\n"
        "def work(n):\n"
        "    if n == 3 and not pathlib.Path('second').exists():\n"
        "        pathlib.Path('second').touch(); time.sleep(0.5); os._exit(9)\n"
        "    return n\n"
    )
    cases = "\n".join(f"  - {{name: c{n}, inputs: {{n: {n}}}}}" for n in range(6))
    (tmp_path / "cases.yaml").write_text(f"name: slow\nmax_concurrent_runs: 6\ncases:\n{cases}\n")
    command = [sys.executable, "-m", "flowgauge", "bench", "--target", "python:slow:work", "--configs", "cases.yaml", "--json", "--db", db]
    killed = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path)
    assert (killed.returncode, receiver.spans) == (9, [])
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    root = assert_one_tree(receiver)
    assert root.links == []
    assert root.attributes["bench.interruptions"] == 1
    reported = {trial["run_id"] for trial in json.loads(done.stdout)["trials"]}
    assert {run.attributes["bench.run_id"] for run in receiver.below(root)} == reported
    assert len(reported) == 6


def test_without_an_exporter_nothing_is_imported_or_sent(tmp_path: Path) -> None:
    code = (
        "import sys, flowgauge as fg\n"
        "result = fg.bench(lambda: 1, db='store.db')\n"
        "assert not result.outcome.record.trace_id\n"
        "print(*(name for name in sys.modules if name.startswith(('opentelemetry', 'flowgauge.integrations.otel', 'google.protobuf'))))"
    )
    environment = {name: value for name, value in os.environ.items() if not name.startswith("OTEL_")}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == ""


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        pytest.param({}, False, id="nothing is set"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://localhost:4318"}, True, id="an endpoint for all"),
        pytest.param({"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://localhost:4318/v1/traces"}, True, id="an endpoint for traces"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": " "}, False, id="an empty endpoint"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_SDK_DISABLED": "TRUE"}, False, id="the SDK is off"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "none"}, False, id="traces go nowhere"),
        pytest.param({"OTEL_EXPORTER_OTLP_ENDPOINT": "http://x", "OTEL_TRACES_EXPORTER": "console,otlp"}, True, id="several exporters"),
    ],
)
def test_the_standard_variables_switch_it_on(settings: dict[str, str], expected: bool) -> None:
    assert otel.wanted(settings) is expected


def test_a_receiver_that_is_gone_costs_one_timeout_and_a_warning(receiver: Receiver, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "0.2")
    exports = _counted(monkeypatch)
    result = fg.bench(noop, runs=1200, db=db)
    assert result.configs["default"].success.value == 1.0
    (warning,) = result.outcome.warnings
    assert warning == "The trace is not whole: http://127.0.0.1:9 took 0 spans and then failed."
    assert len(exports) == 1


def test_a_receiver_that_refuses_is_told_as_a_warning(receiver: Receiver, db: str) -> None:
    receiver.answer = 400
    result = fg.bench(noop, db=db)
    assert result.outcome.warnings[0].startswith("The trace is not whole")
    assert receiver.requests == 1


def test_the_time_for_a_batch_is_bounded_also_where_nobody_says_so(receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    assert _timeout_s(otel._otlp()) == otel.TIMEOUT_S
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_TIMEOUT", "7")
    assert _timeout_s(otel._otlp()) == 7


def test_a_protocol_that_is_not_spoken_is_a_warning(receiver: Receiver, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")
    result = fg.bench(noop, db=db)
    assert "not sent by grpc" in result.outcome.warnings[0]


def test_a_missing_extra_is_a_warning(receiver: Receiver, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry.sdk.trace", None)
    result = fg.bench(noop, db=db)
    assert "pip install 'flowgauge[otel]'" in result.outcome.warnings[0]


def test_sending_does_not_hold_up_the_event_loop(receiver: Receiver, db: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """While an export blocks, the loop goes on: it is the loop that lets the export end."""
    import asyncio
    import threading

    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace.export import SpanExportResult

    turning = threading.Event()
    monkeypatch.setattr(OTLPSpanExporter, "export", lambda *_: SpanExportResult.SUCCESS if turning.wait(20) else SpanExportResult.FAILURE)

    async def main() -> Any:
        bench = asyncio.create_task(fg.abench(noop, db=db))
        while not bench.done():
            await asyncio.sleep(0.01)
            if trial_stored(db):
                turning.set()
        return await bench

    assert asyncio.run(main()).outcome.warnings == ()


def trial_stored(db: str) -> bool:
    if not Path(db).exists():
        return False
    with open_store(db) as store:
        return any(record.status == "finished" for record in store.list_benches().items)


def test_a_play_by_itself_is_a_tree_too(receiver: Receiver, db: str) -> None:
    played = fg.play(EXAMPLES / "support.yaml", inputs={"message": "Hello"}, db=db)
    root = assert_one_tree(receiver)
    assert root.name == "invoke_workflow support"
    assert root.attributes["flowgauge.play_sid"] == played.play.sid
    assert len(receiver.below(root)) == 2


def _counted(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter

    counted: list[int] = []
    real: Callable[..., Any] = OTLPSpanExporter.export

    def export(self: Any, spans: Any) -> Any:
        counted.append(len(spans))
        return real(self, spans)

    monkeypatch.setattr(OTLPSpanExporter, "export", export)
    return counted


def _timeout_s(exporter: Any) -> float:
    return float(exporter._client._timeout)

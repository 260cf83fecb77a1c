"""Random input to `/rpc`: every body gets a well-formed answer, quickly, and none reaches what should not happen."""

from __future__ import annotations

import http.client
import json
import logging
from collections import Counter
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from tests.app.review_project import serve_reviews
from tests.serve.rpc_noise import Noise
from tests.serve.serving import JSON, Served, served

from flowgauge.serve.running import Settings

ASK = """
name: ask
inputs: [{name: question, required: true}]
config: {provider: mock, model: fast}
nodes:
  - {id: answer, type: ai, prompt: "Answer {{ inputs.question }}"}
"""
CASES = {"cases": [{"name": "a", "inputs": {"question": "a"}}]}
IN_TEST, IN_SOAK = 2_000, 100_000
SEEDED_EVERY = 250
"""What the noise deletes is put back so often."""
LONGEST_S = 75.0
"""A little more than a read may take."""
INTERNAL = -32603


def seeded(server: Served) -> dict[str, list[str]]:
    """Words that lead somewhere, by the parameter that takes them."""
    saved = server.result("workflow_set", text=ASK)
    server.result("workflow_set", text=ASK.replace("Answer", "Please answer"))
    server.result("example_set", workflow_sid="ask", name="sky", input_values={"question": "Is it blue?"})
    plays = [server.result("play_start", workflow_sid="ask", input_data={"question": "Is it?"})["sid"] for _ in range(8)]
    figures = {"workflow_sid": "ask", "runs": [{"status": "success", "duration_ms": 1.0}] * 3}
    benchmarks = [server.result("benchmark_set", **figures, created_at=1000 + number)["sid"] for number in range(8)]
    server.result("baseline_set", name="release", benchmark_sid=benchmarks[0])
    bench = server.result("benchmark_start", workflow_sid="ask", configs=CASES, runs=2)["bench_id"]
    sides = [*benchmarks, "release", f"{bench}:default", "newest:ask", "latest"]
    versions, workflows = [saved["version"]["sid"]], ["ask", saved["sid"]]
    return {
        "workflow_sid": workflows, "workflow.sid": workflows, "example.sid": ["sky"], "example_sid": ["sky"], "play.sid": plays,
        "version_sid": versions, "workflow_version_sid": versions, "old_version_sid": versions, "new_version_sid": versions,
        "benchmark.sid": benchmarks, "benchmark_sid": benchmarks, "candidate": sides, "baseline": sides, "subject": ["ask", "noise"],
        "bench_id": [bench], "baseline.name": ["release", "other"], "name": ["ask", "benchmark_flow", "release", "nightly"],
        "schedule.sid": ["nightly"], "play_sid": plays, "base": ["main", "HEAD~1", "--all"],
        "head": ["feature", "main", ""],
    }  # fmt: skip


def faults(answer: Any) -> list[str]:
    """What is wrong with an answer."""
    if isinstance(answer, list):
        return [fault for each in answer for fault in faults(each)] if answer else ["an empty batch of answers"]
    if not isinstance(answer, dict) or answer.get("jsonrpc") != "2.0" or "id" not in answer:
        return ["no answer of JSON-RPC"]
    if ("result" in answer) == ("error" in answer):
        return ["neither a result nor an error, or both"]
    error = answer.get("error")
    if error is None:
        return []
    if not isinstance(error["code"], int) or not error["message"]:
        return ["an error without code or words"]
    if error["code"] == -32602 and "field" not in error["data"]:
        return ["a bad parameter without its field"]
    return ["an internal error"] if error["code"] == INTERNAL else []


def codes(answer: Any) -> list[int]:
    answers = answer if isinstance(answer, list) else [answer]
    return [each.get("error", {}).get("code", 0) for each in answers]


def exchanged(connection: http.client.HTTPConnection, body: bytes, where: str) -> tuple[int, bytes]:
    """Status and body of an answer, which must come."""
    try:
        connection.request("POST", "/rpc", body, JSON)
        response = connection.getresponse()
        return response.status, response.read()
    except (OSError, http.client.HTTPException) as error:
        pytest.fail(f"{where} → {type(error).__name__}: {error}")


def bombard(server: Served, seed: int, count: int) -> Counter[int]:
    """Send so many bodies; how often each code came back."""
    noise = Noise(seed, server.result("rpc.discover"))
    seen: Counter[int] = Counter()
    with closing(http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=LONGEST_S)) as connection:
        for number in range(count):
            if number % SEEDED_EVERY == 0:
                connection.close()  # it may be idle for long meanwhile
                noise.learn(seeded(server))
            body = noise.body()
            where = f"seed {seed}, body {number}: {body[:5000]!r}"
            status, answered = exchanged(connection, body, where)
            where = f"{where} → {status} {answered[:2000]!r}"
            assert status in (200, 204), where
            assert b"Traceback" not in answered, where
            assert b'File "' not in answered, where
            if status == 200:
                answer = json.loads(answered)
                assert faults(answer) == [], where
                seen.update(codes(answer))
    assert server.result("health")["status"] == "ok"
    return seen


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A review runs the tests of the repository that the server is in: not these."""
    serve_reviews(tmp_path / "project", tmp_path / "data", monkeypatch)
    monkeypatch.setenv("FLOWGAUGE_DATA", str(tmp_path / "data"))


@pytest.mark.timeout(600)
def test_random_input_is_answered_and_breaks_nothing(server: Served, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.ERROR, "flowgauge"):
        seen = bombard(server, 20260419, IN_TEST)
    assert [record.getMessage() for record in caplog.records] == []
    assert {0, -32700, -32600, -32601, -32602, -32004} <= set(seen), seen
    assert seen[0] > IN_TEST / 10


@pytest.mark.soak
@pytest.mark.timeout(7200)
def test_much_random_input_is_answered_and_breaks_nothing(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    """A server of its own for each part, so that the store does not grow for ever."""
    seen: Counter[int] = Counter()
    for part in range(10):
        with served(Settings(db=str(tmp_path / f"{part}.db"), port=0)) as up, caplog.at_level(logging.ERROR, "flowgauge"):
            seen += bombard(up, part, IN_SOAK // 10)
    assert [record.getMessage() for record in caplog.records] == []
    print(f"{IN_SOAK} bodies: {dict(seen)}")

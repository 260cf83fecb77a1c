"""What is read by people and by monitors: the page, health, metrics; and limits that end what would not end by itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest
from tests.serve.serving import Served, served

from flowgauge._version import __version__
from flowgauge.serve.limits import Limits
from flowgauge.serve.running import Settings

SAMPLE = re.compile(r'([a-z_]+)(?:\{((?:[a-z]+="[^"\\]*",?)+)\})? (-?[0-9.e+]+|\+Inf|NaN)')
DOCS = Path(__file__).parents[2] / "docs" / "server.md"


class Page(HTMLParser):
    """What a page says, and what it would fetch or run."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.words = ""
        self.outside: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in ("script", "link", "img", "iframe") or any(name in ("src", "href") or name.startswith("on") for name, _ in attrs):
            self.outside.append(tag)

    def handle_data(self, data: str) -> None:
        self.words += data


def test_the_page_says_what_is_here_and_what_is_not_and_fetches_nothing(server: Served) -> None:
    reply = server.request("GET", "/")
    page = Page(reply.body.decode())
    assert (reply.status, reply.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "web application is not part of this version" in page.words
    assert server.url in page.words
    assert page.outside == []


def test_health_is_quick_and_says_the_version(server: Served) -> None:
    assert server.request("GET", "/health").json == {"status": "ok", "version": __version__}


def samples(text: str) -> dict[tuple[str, str], float]:
    """Every line must be one of Prometheus' text form."""
    found: dict[tuple[str, str], float] = {}
    for line in text.splitlines():
        if line.startswith("#"):
            assert re.fullmatch(r"# (HELP [a-z_]+ .+|TYPE [a-z_]+ (counter|gauge|histogram))", line), line
            continue
        sample = SAMPLE.fullmatch(line)
        assert sample, line
        assert (sample[1], sample[2] or "") not in found, f"{line} stands there twice"
        found[sample[1], sample[2] or ""] = float(sample[3])
    return found


def test_metrics_count_calls_by_method_and_code_and_how_long_they_took(server: Served) -> None:
    before = samples(server.request("GET", "/metrics").body.decode())
    for method in ("health", "health", "no_such_method", "another_that_is_not", "play_get"):
        server.rpc(method)
    server.request("GET", "/metrics", headers={"Host": "evil.example"})
    reply = server.request("GET", "/metrics")
    now = samples(reply.body.decode())
    assert reply.headers["content-type"].startswith("text/plain; version=0.0.4")

    def more(name: str, labels: str) -> float:
        return now[name, labels] - before.get((name, labels), 0.0)

    assert more("flowgauge_rpc_requests_total", 'method="health",code="0"') == 2
    assert more("flowgauge_rpc_requests_total", 'method="unknown",code="-32601"') == 2
    assert more("flowgauge_rpc_requests_total", 'method="play_get",code="-32602"') == 1
    assert more("flowgauge_rpc_duration_seconds_count", 'method="health"') == 2
    assert more("flowgauge_rpc_duration_seconds_bucket", 'method="health",le="+Inf"') == 2
    assert more("flowgauge_http_refused_total", 'reason="host"') == 1
    assert now["flowgauge_store_bytes", ""] > 0
    assert not any("no_such_method" in labels for _, labels in now)


def test_a_bucket_holds_all_that_is_smaller(server: Served) -> None:
    server.rpc("health")
    now = samples(server.request("GET", "/metrics").body.decode())
    counts = [value for (name, labels), value in now.items() if name.endswith("_bucket") and 'method="health"' in labels]
    assert counts == sorted(counts)
    assert len(counts) > 5


def test_every_metric_is_documented(server: Served) -> None:
    server.rpc("health")
    server.request("GET", "/metrics", headers={"Host": "evil.example"})
    named = set(re.findall(r"# TYPE ([a-z_]+) ", server.request("GET", "/metrics").body.decode()))
    assert {name for name in named if f"`{name}`" not in DOCS.read_text(encoding="utf-8")} == set()


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Reads end soon, and batches may not answer much."""
    limits = Limits(read_s=0.3, answer_bytes=2_000)
    with served(Settings(db=str(tmp_path_factory.mktemp("strict") / "store.db"), port=0, limits=limits)) as up:
        yield up


def test_a_read_that_takes_too_long_is_answered_all_the_same(strict: Served) -> None:
    error = strict.rpc("play_events", {"wait_s": 30})["error"]
    assert error["code"] == -32008
    assert "play_events took more than 0.3 s" in error["message"]


def test_a_batch_whose_answers_are_too_much_is_answered_as_far_as_there_is_room(strict: Served) -> None:
    calls = [{"jsonrpc": "2.0", "id": number, "method": "health"} for number in range(50)]
    calls.append({"jsonrpc": "2.0", "method": "health"})
    answers = strict.post(json.dumps(calls).encode()).json
    assert [answer["id"] for answer in answers] == list(range(50))
    codes = [answer.get("error", {}).get("code", 0) for answer in answers]
    assert codes == sorted(codes, reverse=True)
    assert set(codes) == {0, -32600}
    assert "not made" in answers[-1]["error"]["message"]

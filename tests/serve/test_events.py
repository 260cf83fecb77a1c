"""Events over HTTP: as they happen, from where one left, to many at once, and to an end with a reason."""

from __future__ import annotations

import asyncio
import http.client
import itertools
import socket
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import aiohttp
import msgspec
import pytest
from tests.serve.serving import SECRETS, Served, bearer, put_tokens, served, token

from flowgauge.model.redaction import redactor
from flowgauge.model.service import Event
from flowgauge.serve.limits import Limits
from flowgauge.serve.running import Settings
from flowgauge.store import open_store

LISTENERS = 200
BEGUN = "begun"
_PLAYS = itertools.count(1)


class Message(msgspec.Struct, frozen=True):
    """One block of a stream."""

    fields: dict[str, str]

    @property
    def kind(self) -> str:
        return self.fields.get("event", "")

    @property
    def data(self) -> Any:
        return msgspec.json.decode(self.fields["data"])


@contextmanager
def listening(server: Served, query: str = "", **headers: str) -> Iterator[Iterator[Message]]:
    """The blocks of a stream; comments under an empty name."""
    connection = http.client.HTTPConnection(urlsplit(server.url).netloc, timeout=60)
    with closing(connection):
        connection.request("GET", f"/events{query}", headers=headers)
        response = connection.getresponse()
        assert response.status == 200, response.read()
        assert response.getheader("content-type") == "text/event-stream; charset=utf-8"
        yield blocks(response)


def blocks(lines: http.client.HTTPResponse) -> Iterator[Message]:
    fields: dict[str, str] = {}
    for line in lines:
        name, _, value = line.decode().rstrip("\n").partition(":")
        if line == b"\n":
            yield Message(fields)
            fields = {}
        else:
            fields[name] = value.removeprefix(" ")


def told(stream: Iterator[Message]) -> Message:
    """The next that is an event, but for what only makes a play known."""
    return next(message for message in stream if message.kind not in ("", BEGUN))


def known(server: Served, *, play_sid: str = "", bench_id: str = "") -> str:
    """A play or bench that something was told of before, so that it can be listened to."""
    server.host.store.append_events([Event(id=0, kind=BEGUN, at=1, play_sid=play_sid, bench_id=bench_id)])
    return play_sid or bench_id


@pytest.fixture
def play_sid(server: Served) -> str:
    """Of a play that only one test speaks of."""
    return known(server, play_sid=f"pl_{next(_PLAYS)}")


def test_an_event_is_told_with_its_id_kind_and_data(server: Served, play_sid: str) -> None:
    with listening(server, f"?play_sid={play_sid}") as stream:
        server.publish("node_finished", play_sid=play_sid, data={"node_id": "a\nb", "text": "ü"})
        message = told(stream)
    assert (message.kind, message.data["play_sid"]) == ("node_finished", play_sid)
    assert message.data["data"] == {"node_id": "a\nb", "text": "ü"}
    assert message.fields["id"] == str(message.data["id"])


def test_a_stream_that_has_begun_misses_nothing(server: Served, play_sid: str) -> None:
    with listening(server, f"?play_sid={play_sid}") as stream:
        for number in range(500):
            server.publish("tick", play_sid=play_sid, data=number)
        assert [told(stream).data["data"] for _ in range(500)] == list(range(500))


@pytest.mark.parametrize("how", ["by the header", "by the address", "by both, where the header counts"])
def test_who_comes_back_gets_all_that_happened_meanwhile_and_what_comes(server: Served, play_sid: str, how: str) -> None:
    with listening(server, f"?play_sid={play_sid}") as stream:
        for number in range(1200):
            server.publish("tick", play_sid=play_sid, data=number)
            server.publish("tick", play_sid="pl_of_somebody_else", data=number)
        seen = [told(stream) for _ in range(3)][-1].fields["id"]
    after = {"by the header": "", "by the address": f"&after={seen}", "by both, where the header counts": "&after=0"}[how]
    headers = {} if how == "by the address" else {"Last-Event-ID": seen}
    with listening(server, f"?play_sid={play_sid}{after}", **headers) as stream:
        server.publish("tick", play_sid=play_sid, data=1200)
        messages = [told(stream) for _ in range(1198)]
    assert [message.data["data"] for message in messages] == list(range(3, 1201))
    ids = [int(message.fields["id"]) for message in messages]
    assert ids == sorted(set(ids))


def test_an_id_from_another_time_hides_nothing(server: Served, play_sid: str) -> None:
    with listening(server, f"?play_sid={play_sid}&after={2**62}") as stream:
        server.publish("tick", play_sid=play_sid)
        assert [told(stream).kind for _ in range(2)] == ["events_missed", "tick"]


def test_a_listener_hears_of_its_bench_alone(server: Served) -> None:
    with listening(server, f"?bench_id={known(server, bench_id='mine')}") as stream:
        server.publish("trial_finished", bench_id="another")
        server.publish("play_finished", play_sid="pl_x")
        server.publish("trial_finished", bench_id="mine")
        assert told(stream).data["bench_id"] == "mine"


def test_a_play_is_followed_from_its_start_to_its_end(server: Served) -> None:
    text = "name: followed\nconfig: {provider: mock, model: fast}\nnodes:\n  - {id: greet, type: ai, prompt: Hello}\n"
    server.result("workflow_set", text=text)
    play = server.result("play_start", workflow_sid="followed")
    kinds: list[str] = []
    with listening(server, f"?play_sid={play['sid']}&after=0") as stream:
        while "play_finished" not in kinds:
            kinds.append(told(stream).kind)
    assert kinds[0] == "play_started"
    assert {"node_started", "node_finished"} <= set(kinds)


@pytest.mark.parametrize("query", ["?play_sid=pl_nobody", "?bench_id=nobody", "?play_sid=pl_nobody&after=0"])
@pytest.mark.parametrize("method", ["GET", "HEAD"])
def test_a_play_or_bench_that_is_not_there_is_not_listened_to_in_silence(server: Served, method: str, query: str) -> None:
    reply = server.request(method, f"/events{query}")
    assert reply.status == 404
    if method == "GET":
        assert (reply.error["code"], reply.error["data"]["type"]) == (-32004, "NotFound")


@pytest.mark.parametrize("asked", [{"sid": "pl_nobody"}, {"bench_id": "nobody"}], ids=["a play", "a bench"])
def test_events_of_what_is_not_there_are_not_waited_for(server: Served, asked: dict[str, str]) -> None:
    assert server.rpc("play_events", {**asked, "wait_s": 30})["error"]["code"] == -32004


def test_a_play_that_was_deleted_is_known_by_its_events(server: Served) -> None:
    server.result("workflow_set", text="name: gone\nconfig: {provider: mock, model: fast}\nnodes:\n  - {id: a, type: ai, prompt: Hi}\n")
    sid = server.result("play_start", workflow_sid="gone")["sid"]
    kinds: list[str] = []
    with listening(server, f"?play_sid={sid}&after=0") as stream:
        while "play_finished" not in kinds:
            kinds.append(told(stream).kind)
    server.result("play_delete", sid=sid)
    assert [event["kind"] for event in server.result("play_events", sid=sid)["items"]] == kinds


def test_a_bench_is_listened_to_by_the_beginning_of_its_id(server: Served) -> None:
    server.result("workflow_set", text="name: short\nconfig: {provider: mock, model: fast}\nnodes:\n  - {id: a, type: ai, prompt: Hi}\n")
    server.result("benchmark_start", workflow_sid="short", bench_id="by-its-beginning-1")
    with listening(server, "?bench_id=by-its-beg&after=0") as stream:
        assert told(stream).data["bench_id"] == "by-its-beginning-1"


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ("?after=x", "after"),
        ("?after=-1", "after"),
        ("?after=1e3", "after"),
        (f"?after={10**19}", "after"),
        ("?sid=pl_1", "sid"),
    ],
)
def test_a_bad_parameter_is_refused_by_name(server: Served, query: str, field: str) -> None:
    reply = server.request("GET", f"/events{query}")
    assert (reply.status, reply.error["data"]["field"]) == (400, field)


def test_a_header_that_is_no_id_is_refused(server: Served) -> None:
    assert server.request("GET", "/events", headers={"Last-Event-ID": "yesterday"}).status == 400


@pytest.fixture(scope="module")
def hasty(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """Beats often, and keeps little for each listener."""
    db = str(tmp_path_factory.mktemp("hasty") / "store.db")
    put_tokens(db)
    limits = Limits(heartbeat_s=0.1, queued_events=50, send_s=1.0, listeners=LISTENERS + 1)
    with served(Settings(db=db, port=0, allowed_hosts=("gauge.example",), limits=limits)) as up:
        yield up


def test_a_quiet_stream_says_that_it_is_still_there(hasty: Served) -> None:
    with listening(hasty, f"?play_sid={known(hasty, play_sid='pl_quiet')}", **bearer(SECRETS["read"])) as stream:
        beats = [message for message, _ in zip((m for m in stream if "" in m.fields), range(3), strict=False)]
    assert len(beats) == 3


def test_a_stream_ends_when_its_token_is_revoked(hasty: Served) -> None:
    with open_store(hasty.host.store.place, redact=redactor(())) as store:
        store.put_token(token("listener", "fg-of-a-listener", scope="read"))
        with listening(hasty, **bearer("fg-of-a-listener")) as stream:
            store.revoke_token("listener")
            last = next(message for message in stream if message.kind == "closed")
            assert "revoked" in last.data["reason"]
            assert list(stream) == []


def metric(server: Served, name: str) -> int:
    text = server.request("GET", "/metrics", headers=bearer(SECRETS["read"])).body.decode()
    return int(next(line.split()[-1] for line in text.splitlines() if line.startswith(f"{name} ")))


def until(server: Served, name: str, value: int) -> None:
    """Wait for a metric to be at least so much."""
    while metric(server, name) < value:
        time.sleep(0.02)


def test_a_listener_that_does_not_read_is_let_go_and_the_others_go_on(hasty: Served) -> None:
    address = urlsplit(hasty.url)
    with closing(socket.create_connection((address.hostname, address.port))) as stuck:
        stuck.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        head = f"GET /events HTTP/1.1\r\nHost: {address.netloc}\r\nAuthorization: Bearer {SECRETS['read']}\r\n\r\n"
        stuck.sendall(head.encode())
        assert stuck.recv(10).startswith(b"HTTP/1.1")
        before = metric(hasty, "flowgauge_event_listeners_dropped_total")
        with listening(hasty, f"?play_sid={known(hasty, play_sid='pl_reader')}", **bearer(SECRETS["read"])) as stream:
            for _ in range(100):
                for _ in range(20):
                    hasty.publish("tick", play_sid="pl_flood", data="x" * 20_000)
                hasty.publish("tick", play_sid="pl_reader")
                assert told(stream).kind == "tick"
            until(hasty, "flowgauge_event_listeners_dropped_total", before + 1)


def test_two_hundred_listen_at_once_and_one_too_many_is_told_to_come_back(hasty: Served) -> None:
    heard_of = known(hasty, play_sid="pl_all")

    async def main() -> list[int]:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector, headers=bearer(SECRETS["read"])) as session, asyncio.TaskGroup() as group:
            heard = [group.create_task(hear(session)) for _ in range(LISTENERS)]
            await asyncio.to_thread(until, hasty, "flowgauge_event_listeners", LISTENERS)
            with listening(hasty, **bearer(SECRETS["read"])):
                refused = hasty.request("GET", "/events", headers=bearer(SECRETS["read"]))
                assert (refused.status, refused.headers["retry-after"]) == (429, "5")
            for number in range(20):
                hasty.publish("tick", play_sid="pl_all", data=number)
        return [await task for task in heard]

    async def hear(session: aiohttp.ClientSession) -> int:
        count = 0
        async with session.get(f"{hasty.url}/events?play_sid={heard_of}") as response:
            assert response.status == 200
            async for line in response.content:
                count += line.startswith(b"data: ") and BEGUN.encode() not in line
                if count == 20:
                    break
        return count

    assert asyncio.run(main()) == [20] * LISTENERS


def test_who_has_gone_is_not_counted_any_more(hasty: Served) -> None:
    with listening(hasty, **bearer(SECRETS["read"])):
        until(hasty, "flowgauge_event_listeners", 1)
    while metric(hasty, "flowgauge_event_listeners"):
        time.sleep(0.02)


def test_a_server_that_stops_says_so_and_does_not_wait_for_listeners(tmp_path: Path) -> None:
    with served(Settings(db=str(tmp_path / "stops.db"), port=0)) as up:
        connection = http.client.HTTPConnection(urlsplit(up.url).netloc, timeout=60)
        connection.request("GET", "/events")
        response = connection.getresponse()
    last = list(blocks(response))[-1]
    assert (last.kind, last.data["reason"]) == ("closed", "The server stops.")
    connection.close()

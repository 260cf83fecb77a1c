"""`flowgauge serve` as a process: its one line, its errors, its end."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
from tests.serve.serving import put_tokens

from flowgauge.errors import NoAnswer
from flowgauge.model.redaction import redactor
from flowgauge.serve.client import Client
from flowgauge.store import open_store

SLOW = """
name: slow
config: {provider: mock, model: fast, extra: {mock: {latency_ms: 2500}}}
nodes:
  - {id: one, type: ai, prompt: One}
  - {id: two, type: ai, needs: [one], prompt: Two}
  - {id: three, type: ai, needs: [two], prompt: Three}
"""


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "flowgauge", "serve", *arguments]


@contextlib.contextmanager
def process(*arguments: str) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """A server of its own, and its address."""
    environment = {**os.environ, "FLOWGAUGE_LEASE_S": "2"}
    with subprocess.Popen(
        command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment, start_new_session=True
    ) as running:
        try:
            assert running.stdout is not None
            line = running.stdout.readline()
            said = re.fullmatch(r"serving on (http://\S+)\n", line)
            assert said, (line, running.stderr.read() if running.stderr and running.poll() is not None else "")
            yield running, said[1]
        finally:
            running.kill()


def refused(*arguments: str) -> str:
    """What a server that does not start says; its exit code must be 2."""
    done = subprocess.run(command(*arguments), capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (2, ""), done
    assert "Traceback" not in done.stderr
    assert len(done.stderr.splitlines()) == 1
    return done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_it_is_up_when_it_says_so_and_ends_well_when_it_is_told(tmp_path: Path, number: signal.Signals) -> None:
    with process("--port", "0", "--db", str(tmp_path / "s.db")) as (running, url):
        with urllib.request.urlopen(f"{url}/health", timeout=20) as answer:
            assert answer.status == 200
        running.send_signal(number)
        out, err = running.communicate(timeout=60)
    assert (running.returncode, out, err) == (0, "", "")


def test_a_call_under_way_is_let_end(tmp_path: Path) -> None:
    """The first call of the batch can be seen from elsewhere: once it is done, the second is under way."""
    calls = [
        {"jsonrpc": "2.0", "id": 1, "method": "workflow_set", "params": {"text": SLOW}},
        {"jsonrpc": "2.0", "id": 2, "method": "play_events", "params": {"wait_s": 1.5}},
    ]
    with process("--port", "0", "--db", str(tmp_path / "s.db")) as (running, url):
        body = msgspec.json.encode(calls)
        head = f"POST /rpc HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
        with socket.create_connection(("127.0.0.1", int(url.rpartition(":")[2])), timeout=60) as connection:
            connection.sendall(head.encode() + body)
            while not Client(url).workflow_list().items:
                time.sleep(0.01)
            running.send_signal(signal.SIGTERM)
            answer = b"".join(iter(lambda: connection.recv(65536), b""))
        assert running.wait(60) == 0
    answers = msgspec.json.decode(answer.partition(b"\r\n\r\n")[2])
    assert [each["id"] for each in answers if "result" in each] == [1, 2]


def test_plays_that_are_not_finished_are_left_for_the_next_server(tmp_path: Path) -> None:
    db = str(tmp_path / "s.db")
    with process("--port", "0", "--db", db) as (running, url):
        client = Client(url)
        client.workflow_set(text=SLOW)
        sids = [client.play_start(workflow_sid="slow").sid for _ in range(3)]
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    with open_store(db, redact=redactor(())) as store:
        assert {store.get_play(sid).status for sid in sids} == {"running"}
    with process("--port", "0", "--db", db) as (_, url):
        ended = [Client(url).wait_for_play(sid, timeout_s=60) for sid in sids]
    assert [(play.status, play.resumed) for play in ended] == [("success", 1)] * 3


def test_a_port_in_use_is_one_clear_error(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        words = refused("--port", str(port), "--db", str(tmp_path / "s.db"))
    assert f"Port {port}" in words
    assert "--port" in words
    assert not (tmp_path / "s.db").exists()


def test_a_port_that_was_just_left_can_be_had_again(tmp_path: Path) -> None:
    with process("--port", "0", "--db", str(tmp_path / "s.db")) as (running, url):
        port = url.rpartition(":")[2]
        Client(url).health()
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == 0
    with process("--port", port, "--db", str(tmp_path / "s.db")) as (_, again):
        assert again == url


def test_on_all_addresses_it_does_not_start_without_a_token(tmp_path: Path) -> None:
    words = refused("--host", "0.0.0.0", "--port", "0", "--db", str(tmp_path / "s.db"))
    assert "flowgauge token create" in words


def test_on_all_addresses_it_starts_with_one_and_asks_for_it(tmp_path: Path) -> None:
    db = str(tmp_path / "s.db")
    put_tokens(db)
    with process("--host", "0.0.0.0", "--port", "0", "--db", db) as (running, url):
        here = url.replace("0.0.0.0", "127.0.0.1")
        assert Client(here, token="fg-secret-of-read").health().status == "ok"
        running.send_signal(signal.SIGTERM)
        assert "--allowed-host" in running.communicate(timeout=60)[1]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param(("--host", "192.0.2.1"), "192.0.2.1", id="an address of another machine"),
        pytest.param(("--allowed-host", "http://gauge.example"), "--allowed-host", id="an address for a name"),
    ],
)
def test_what_cannot_be_listened_on_is_one_clear_error(tmp_path: Path, arguments: tuple[str, ...], words: str) -> None:
    assert words in refused(*arguments, "--port", "0", "--db", str(tmp_path / "s.db"))


def test_a_store_that_cannot_be_opened_is_told_before_anything_is_served(tmp_path: Path) -> None:
    done = subprocess.run(
        command("--port", "0", "--db", str(tmp_path / "nowhere" / "s.db")), capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stdout) == (3, "")
    assert "mkdir" in done.stderr


def test_a_second_signal_ends_it_at_once(tmp_path: Path) -> None:
    with process("--port", "0", "--db", str(tmp_path / "s.db")) as (running, url):
        client = Client(url)
        client.workflow_set(text=SLOW)
        client.play_start(workflow_sid="slow")
        running.send_signal(signal.SIGTERM)
        with pytest.raises(NoAnswer):
            while True:
                Client(url).health()
        running.send_signal(signal.SIGTERM)
        assert running.wait(60) == -signal.SIGTERM

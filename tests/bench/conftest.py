"""Benches end to end: the program in this process, in a folder of its own; and mock servers that count what they are asked."""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.bench.program import ASK, PROFILES, Done, Program, started

from flowgauge.cli.root import run
from flowgauge.model.exchange import ModelRequest
from flowgauge.providers.mock.provider import Decision, MockProvider
from flowgauge.providers.mock.server import running_mock_server


@pytest.fixture
def flowgauge(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Program:
    """Call the program as the shell would, in a folder that holds one workflow, with no keys set."""
    monkeypatch.chdir(tmp_path)
    for name in [name for name in os.environ if name.startswith("FLOWGAUGE_") or name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)
    (tmp_path / "ask.yaml").write_text(ASK)

    def call(*arguments: str | Path) -> Done:
        capsys.readouterr()
        with monkeypatch.context() as within, pytest.raises(SystemExit) as ended:
            within.setattr("sys.argv", ["flowgauge", *map(str, arguments)])
            within.setattr("sys.path", sys.path.copy())
            run([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return Done(int(ended.value.code or 0), out, err)

    return call


class CountingMock(MockProvider):
    """The product's mock, and how often each profile was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: Counter[str] = Counter()

    def decide(self, request: ModelRequest) -> Decision:
        self.asked[request.model] += 1
        return super().decide(request)


class CountingServer:
    """A mock server in a thread of this process."""

    def __init__(self) -> None:
        self.mock = CountingMock()
        self.url = ""
        self._up = threading.Event()
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_until_complete, args=(self._serve(),), daemon=True)
        self._thread.start()
        assert self._up.wait(20)

    @property
    def calls(self) -> int:
        return self.mock.asked.total()

    async def _serve(self) -> None:
        self._ended = asyncio.Event()
        async with running_mock_server(provider=self.mock) as url:
            self.url = url
            self._up.set()
            await self._ended.wait()

    def close(self) -> None:
        self._loop.call_soon_threadsafe(self._ended.set)
        self._thread.join(20)
        self._loop.close()


@pytest.fixture
def counting_server() -> Iterator[CountingServer]:
    server = CountingServer()
    yield server
    server.close()


@pytest.fixture(scope="session")
def mock_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """`flowgauge mock-server` as a process of its own, with a profile that always says 429; its base URL."""
    profiles = tmp_path_factory.mktemp("mock") / "profiles.yaml"
    profiles.write_text(PROFILES)
    process = started("mock-server", "--port", "0", "--profiles", str(profiles))
    assert process.stdout is not None
    yield process.stdout.readline().split()[3]
    process.terminate()
    process.communicate()

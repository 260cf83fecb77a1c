"""What takes minutes inside a server: one at a time, in nobody's way, and gone when the server is."""

from __future__ import annotations

import asyncio
import contextlib
import http.client
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.app.review_project import SIMPLE, Project, is_gone
from tests.registry import misbehaving as bad
from tests.serve.serving import SECRETS, Served, put_tokens, served

from flowgauge.app.host import open_host
from flowgauge.errors import Conflict, NotAllowed
from flowgauge.registry import register_benchmark, stopping, unregister_benchmark
from flowgauge.registry.stopping import Stopped, in_thread
from flowgauge.serve.running import Settings


@pytest.fixture
def hanging(tmp_path: Path) -> Iterator[Path]:
    """An adapter that never ends; gives the file in which it names its child."""
    register_benchmark(bad.Hangs("hangs", str(tmp_path / "pid")))
    yield tmp_path / "pid"
    unregister_benchmark("hangs")


def wait_for(there: Callable[[], Any]) -> None:
    deadline = time.monotonic() + 60
    while not there():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def written(file: Path) -> bool:
    return file.exists() and bool(file.read_text(encoding="utf-8"))


def behind(server: Served, method: str, params: dict[str, Any]) -> None:
    """A call that nobody waits for; its connection breaks when the server ends."""

    def call() -> None:
        with contextlib.suppress(OSError, http.client.HTTPException, AssertionError):
            server.rpc(method, params)

    threading.Thread(target=call, daemon=True).start()


def test_a_capture_ends_with_its_server_and_leaves_nothing(tmp_path: Path, hanging: Path) -> None:
    data = tmp_path / ".flowgauge"
    with served(Settings(db=str(tmp_path / "store.db"), port=0)) as server:
        behind(server, "snapshot_capture", {"version": "v1"})
        wait_for(lambda: written(hanging))
        refused = server.rpc("snapshot_capture", {"version": "v2"})
        assert refused["error"]["code"] == Conflict.rpc_code
        assert "being captured" in refused["error"]["message"]
        assert server.result("snapshot_list") == []
    pid = int(hanging.read_text(encoding="utf-8"))
    wait_for(lambda: is_gone(pid))
    assert [path.name for path in (data / "benchmarks").iterdir()] == [".lock"]
    unregister_benchmark("hangs")
    try:
        with served(Settings(db=str(tmp_path / "store.db"), port=0)) as server:
            assert server.result("snapshot_capture", version="v1")["version"] == "v1"
    finally:
        register_benchmark(bad.Hangs("hangs", str(hanging)))


def test_many_captures_do_not_keep_others_from_the_store(tmp_path: Path, hanging: Path) -> None:
    """A server has eight threads that ask the store; none is taken by what takes minutes."""
    with served(Settings(db=str(tmp_path / "store.db"), port=0)) as server:
        for number in range(12):
            behind(server, "snapshot_capture", {"version": f"v{number}"})
        wait_for(lambda: written(hanging))
        assert server.result("workflow_list")["items"] == []


def test_what_is_stopped_begins_nothing_more() -> None:
    begun: list[str] = []
    started = threading.Event()

    async def long() -> None:
        begun.append("first")
        started.set()
        await asyncio.sleep(600)

    async def second() -> None:
        begun.append("second")

    def work() -> None:
        try:
            stopping.run(long())
        except Stopped:
            begun.append("stopped")
            with pytest.raises(Stopped):
                stopping.run(second())
            raise

    async def main() -> None:
        task = asyncio.create_task(in_thread(work))
        await asyncio.to_thread(started.wait)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(main())
    assert begun == ["first", "stopped"]


def test_what_fails_in_a_thread_fails_for_whoever_waits() -> None:
    def work() -> None:
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        asyncio.run(in_thread(work))


# ── reviews ─────────────────────────────────────────────────────────────────


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    """The server's own repository; its tests wait where a file says so."""
    made = Project(tmp_path / "project")
    made.change(SIMPLE)
    made.git("checkout", "--quiet", "main")
    monkeypatch.chdir(made.path)
    monkeypatch.setenv("TMPDIR", str(tmp_path / "tmp"))
    monkeypatch.setattr("tempfile.tempdir", None)
    (tmp_path / "tmp").mkdir()
    settings = tmp_path / "data" / "review.yaml"
    settings.parent.mkdir()
    code = f"import os, time; open('{tmp_path / 'pid'}', 'w').write(str(os.getpid())); time.sleep(600)"
    settings.write_text(f"lint: git --version\ntests: [python3, -c, {code!r}]\n", encoding="utf-8")
    monkeypatch.setenv("FLOWGAUGE_DATA", str(settings.parent))
    return made


def test_a_review_ends_with_its_server_and_leaves_no_work_tree(tmp_path: Path, project: Project) -> None:
    with served(Settings(db=str(tmp_path / "store.db"), port=0)) as server:
        behind(server, "review_run", {"base": "main", "head": "feature"})
        wait_for(lambda: written(tmp_path / "pid"))
        assert len(project.trees()) == 2
        refused = server.rpc("review_run", {"base": "main", "head": "feature"})
        assert "Another review is under way" in refused["error"]["message"]
    wait_for(lambda: is_gone(int((tmp_path / "pid").read_text(encoding="utf-8"))))
    wait_for(lambda: len(project.trees()) == 1)
    wait_for(lambda: not list((tmp_path / "tmp").iterdir()))


def test_only_an_admin_may_ask_for_a_review(tmp_path: Path, project: Project) -> None:
    db = str(tmp_path / "store.db")
    put_tokens(db)
    with served(Settings(db=db, port=0, allowed_hosts=("gauge.example",))) as server:
        for scope in ("read", "run"):
            answer = server.rpc("review_run", {"base": "main"}, secret=SECRETS[scope])
            assert "needs a token with the scope admin" in answer["error"]["message"]


def test_a_workflow_cannot_ask_for_a_review(tmp_path: Path) -> None:
    async def main() -> None:
        async with open_host(str(tmp_path / "store.db"), isolation="process") as host:
            with pytest.raises(NotAllowed):
                await host.for_nodes.call("review_run", {"base": "main"})

    asyncio.run(main())


@pytest.mark.parametrize(
    ("params", "field"),
    [
        pytest.param({"base": "--output=pwned"}, "", id="an option for a revision"),
        pytest.param({"base": "main", "tests": "touch pwned"}, "tests", id="a command of the caller's"),
        pytest.param({"base": "main", "lint": ["touch", "pwned"]}, "lint", id="another one"),
        pytest.param({"base": "main", "old_version": "v1"}, "new_version", id="half an upgrade"),
        pytest.param({"base": "main", "agents": ["alone"]}, "agents", id="half an agent"),
        pytest.param({"base": "main", "policy": {"rule": "guess"}}, "policy", id="no policy"),
    ],
)
def test_what_does_not_fit_is_refused_before_anything_runs(tmp_path: Path, project: Project, params: dict[str, Any], field: str) -> None:
    with served(Settings(db=str(tmp_path / "store.db"), port=0)) as server:
        error = server.rpc("review_run", params)["error"]
    assert error["code"] == -32602
    assert not field or error["data"]["field"] == field
    assert not (project.path / "pwned").exists()
    assert not (tmp_path / "pid").exists()

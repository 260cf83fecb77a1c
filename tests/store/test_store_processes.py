"""Several processes on one store, and one that is killed."""

from __future__ import annotations

import signal
import subprocess
import sys
import textwrap

import pytest

from flowgauge.store import open_store
from flowgauge.store.store import Store


def start(code: str, *arguments: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", textwrap.dedent(code), *arguments]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_processes_that_open_a_new_store_at_once_all_succeed(store_url: str) -> None:
    code = """
        import sys
        from flowgauge.store import open_store
        import flowgauge.store.store
        print("ready", flush=True)
        sys.stdin.readline()
        with open_store(sys.argv[1]) as store:
            for content in (b"same", sys.argv[2].encode()):
                print(store.save_version("triage", "", content, content.hex() * 8)[1].number, flush=True)
    """
    processes = [start(code, store_url, f"own{number}") for number in range(3)]
    for process in processes:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in processes:
        process.communicate(timeout=60)
        assert process.returncode == 0
    with open_store(store_url) as store:
        assert [version.number for version in store.list_versions("triage").items] == [4, 3, 2, 1]


@pytest.mark.parametrize("moment", ["after the answer", "while writing"])
def test_what_was_answered_survives_a_kill(store_url: str, moment: str) -> None:
    code = """
        import asyncio, sys
        from flowgauge.model.play import NodeRun
        from flowgauge.store import open_store

        async def work():
            store = open_store(sys.argv[1])
            number = 0
            while True:
                write = store.journal.node_finished("pl_1", NodeRun(node_id=str(number), status="success", started_at=1, duration_ms=1.0))
                store.journal.node_finished("pl_2", NodeRun(node_id=str(number), status="success", started_at=1, duration_ms=1.0))
                await write
                print(number, flush=True)
                number += 1
                if sys.argv[2] == "after the answer" and number == 3:
                    sys.stdin.readline()

        asyncio.run(work())
    """
    with start(code, store_url, moment) as process:
        assert process.stdout is not None
        answered = [int(process.stdout.readline()) for _ in range(3)]
        process.send_signal(signal.SIGKILL)
        answered += [int(line) for line in process.stdout.read().splitlines()]
    with open_store(store_url) as store:
        stored = {int(run.node_id) for run in store.get_node_runs("pl_1")}
        assert stored >= set(answered)
        assert store.info().engine.check == "ok"


def test_a_process_that_forgets_to_close_loses_nothing(store_url: str) -> None:
    code = """
        import sys
        from flowgauge.model.play import NodeRun
        from flowgauge.store import open_store
        store = open_store(sys.argv[1])
        for number in range(500):
            store.journal.node_finished("pl_1", NodeRun(node_id=str(number), status="success", started_at=1, duration_ms=1.0))
    """
    with start(code, store_url) as process:
        process.communicate(timeout=60)
    assert process.returncode == 0
    with open_store(store_url) as store:
        assert len(store.get_node_runs("pl_1")) == 500


def test_a_killed_owner_is_known_to_be_gone(store: Store, store_url: str) -> None:
    code = """
        import sys
        from flowgauge.model.play import Play
        from flowgauge.store import open_store
        store = open_store(sys.argv[1])
        owner = store.register_owner(3600)
        store.journal.play_started(Play(sid="pl_1", workflow_sid="w", version_sid="v", status="running", owner_sid=owner.sid)).wait()
        print(owner.sid, flush=True)
        sys.stdin.readline()
    """
    me = store.register_owner()
    with start(code, store_url) as process:
        assert process.stdout is not None
        owner_sid = process.stdout.readline().strip()
        assert store.owner_alive(store.get_owner(owner_sid))
        assert store.abandoned_plays() == ()
        assert not store.claim_play("pl_1", me.sid)
        process.kill()
    assert [play.sid for play in store.abandoned_plays()] == ["pl_1"]
    assert store.claim_play("pl_1", me.sid)


TWENTY_AT_ONCE = """
    import os, sys
    from flowgauge.model.bench import Bench, Case, Configuration, Target
    from flowgauge.store import open_store
    import flowgauge.store.postgres, flowgauge.store.store

    target = Target(kind="python", reference="a:b", name="b")
    definition = Bench(name="race", target=target, configs=(Configuration(name="c"),), cases=(Case(name="x"),))
    go, start = os.pipe()
    done, told = os.pipe()
    for _ in range(20):
        if os.fork() == 0:
            os.close(start)
            os.read(go, 1)
            with open_store(sys.argv[1]) as store:
                record, how = store.start_bench(definition, "ab12cd34ef", 1, store.register_owner(3600).sid)
                os.write(1, f"{how} {record.owner_sid}\\n".encode())  # one write: lines of twenty must not mix
                os.close(told)
                os.read(done, 1)
            os._exit(0)
    os.close(told)
    os.close(start)
    os.read(done, 1)
    for _ in range(20):
        os.wait()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="needs fork")
def test_of_twenty_processes_that_start_one_bench_one_owns_it(store: Store, store_url: str) -> None:
    with start(TWENTY_AT_ONCE, store_url) as process:
        answers = [line.split() for line in process.communicate(timeout=100)[0].splitlines()]
    assert sorted(how for how, _ in answers) == ["held"] * 19 + ["new"]
    assert {owner for _, owner in answers} == {store.get_bench("latest").owner_sid}
    assert len(store.list_benches().items) == 1


def test_trials_that_were_answered_survive_a_kill_and_the_bench_is_continued(store: Store, store_url: str) -> None:
    code = """
        import asyncio, sys
        from flowgauge.model.bench import Answer, Bench, Case, Configuration, Target, Trial
        from flowgauge.store import open_store

        target = Target(kind="python", reference="a:b", name="b")
        definition = Bench(name="killed", target=target, configs=(Configuration(name="c"),), cases=(Case(name="x"),))

        async def work():
            store = open_store(sys.argv[1])
            record, how = store.start_bench(definition, "ab12cd34ef", 10**6, store.register_owner(3600).sid)
            print(how, flush=True)
            number = 0
            while True:
                for number in range(number, number + 50):
                    answer = Answer(status="success")
                    trial = Trial(run_id=str(number), position=number, config="c", case="x", repetition=number, answer=answer)
                    await store.journal.room()
                    write = store.journal.trial_finished(record.uid, trial)
                await write
                print(number, flush=True)
                number += 1

        asyncio.run(work())
    """
    found: set[str] = set()
    for how in ("new", "continued", "continued"):
        with start(code, store_url) as process:
            assert process.stdout is not None
            assert process.stdout.readline().strip() == how
            answered = [int(process.stdout.readline()) for _ in range(3)]
            process.send_signal(signal.SIGKILL)
            answered += [int(line) for line in process.stdout.read().splitlines()]
        record = store.get_bench("killed")
        found = store.finished_run_ids(record.uid)
        assert found >= {str(number) for number in range(max(answered) + 1)}
    assert record.interruptions == 2
    assert store.info().rows["trials"] == len(found)

"""A server that is killed in the middle of a schedule's run: the next one finishes it, once."""

from __future__ import annotations

import asyncio
import multiprocessing
import time
from multiprocessing.process import BaseProcess

from tests.app.hook_server import listening
from tests.app.scheduling import serving

from flowgauge.app.host import open_host
from flowgauge.store import open_store
from flowgauge.store.store import Store

_CONTEXT = multiprocessing.get_context("spawn")


def serve(db: str) -> None:
    """A whole host, with its loops, until it is killed."""

    async def main() -> None:
        async with open_host(db, lease_s=2.0, isolation="process"):
            await asyncio.Event().wait()

    asyncio.run(main())


def killed_while_measuring(store: Store, process: BaseProcess) -> None:
    """Once the due moment's bench has some of its results."""
    process.start()
    while not (found := store.list_benches().items) or not store.count_trials(found[0].uid):
        assert process.is_alive()
        time.sleep(0.01)
    process.kill()
    process.join()


def test_a_moment_whose_server_was_killed_is_finished_judged_and_told_by_the_next(store_url: str) -> None:
    async def prepared(webhook: str) -> None:
        async with serving(store_url) as server:
            await server.save(latency_ms=60)
            made = server.add(baseline="nowhere", webhook=webhook, every_s=3600)
            server.store.move_moment(made, server.clock.now_ms() - 1000)

    with listening() as hook, open_store(store_url) as store:
        asyncio.run(prepared(hook.url))
        killed_while_measuring(store, _CONTEXT.Process(target=serve, args=(store_url,)))
        moment = store.get_schedule("nightly").running_at
        assert moment > 0
        second = _CONTEXT.Process(target=serve, args=(store_url,))
        third = _CONTEXT.Process(target=serve, args=(store_url,))
        for process in (second, third):
            process.start()
        while (ended := store.get_schedule("nightly")).running_at:
            assert second.is_alive()
            assert third.is_alive()
            time.sleep(0.02)
        for process in (second, third):
            process.kill()
            process.join()
        assert (ended.last_status, ended.last_at) == ("not_measured", moment)
        [record] = store.list_benches().items
        assert (record.status, record.bench_id, store.count_trials(record.uid)) == ("finished", ended.last_bench_id, 8)
        assert [body["bench_id"] for body in hook.bodies] == [ended.last_bench_id]

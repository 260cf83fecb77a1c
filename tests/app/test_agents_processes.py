"""Agents captured by real processes at once."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Barrier
from pathlib import Path
from typing import Any

import pytest
from tests.app.agents_at_work import capture

from flowgauge.app.agent_shelf import Shelf
from flowgauge.app.agents import AgentBaselines
from flowgauge.registry.agents.agent import Agent
from flowgauge.store import open_store
from flowgauge.store.store import Store

_CONTEXT = multiprocessing.get_context("spawn")
EACH = 5


class TogetherShelf(Shelf):
    """Both have read which number is free before either takes it."""

    barrier: Barrier

    def numbers(self, agent: Agent) -> list[int]:
        found = super().numbers(agent)
        self.barrier.wait(60)
        return found


class Together(AgentBaselines):
    """On such a shelf."""

    def __init__(self, store: Store, data: Path) -> None:
        super().__init__(store, data)
        self._shelf = TogetherShelf(store, data)


def capture_at_once(db: str, data: str, barrier: Barrier, answers: Any, same_number: bool) -> None:
    """As soon as the other is there, too."""
    barrier.wait(60)
    kind = Together if same_number else AgentBaselines
    TogetherShelf.barrier = barrier
    answers.put([capture(db, data, kind) for _ in range(EACH)])


@contextmanager
def two(db: str, *folders: Path, same_number: bool) -> Iterator[list[int]]:
    """Two processes that capture at once; the versions that they were given."""
    barrier, answers = _CONTEXT.Barrier(len(folders)), _CONTEXT.Queue()
    processes = [_CONTEXT.Process(target=capture_at_once, args=(db, str(folder), barrier, answers, same_number)) for folder in folders]
    for process in processes:
        process.start()
    given = [answers.get(timeout=90) for _ in processes]
    for process in processes:
        process.join(60)
    yield [version for versions in given for version in versions]


@pytest.mark.parametrize("shared", [True, False], ids=["on one machine", "on machines that share the store alone"])
def test_two_processes_that_capture_at_once_give_two_versions(store_url: str, tmp_path: Path, shared: bool) -> None:
    folders = tmp_path / "one", tmp_path / ("one" if shared else "two")
    with open_store(store_url) as store:
        list(store.iter_benchmarks())
        with two(store_url, *folders, same_number=not shared) as given:
            assert sorted(given) == list(range(1, 2 * EACH + 1))
        for folder in folders:
            assert [each.version for each in AgentBaselines(store, folder).list_snapshots("p", "f")] == sorted(given)
    written = [int(file.stem[1:]) for folder in {*folders} for file in (folder / "baselines" / "p_f").glob("v*.json")]
    assert sorted(written) == sorted(given)

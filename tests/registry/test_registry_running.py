from __future__ import annotations

import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.app.review_project import is_gone
from tests.registry import misbehaving as bad

from flowgauge.app.registry import Registry
from flowgauge.errors import NotFound, UsageError
from flowgauge.registry import register_benchmark, unregister_benchmark
from flowgauge.registry.adapter import Outcome, Requires
from flowgauge.registry.requirements import missing
from flowgauge.store import open_store

if TYPE_CHECKING:
    from flowgauge.registry.adapter import Adapter


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with open_store(str(tmp_path / "store.db")) as store:
        yield Registry(store, tmp_path / "data", time_limit_s=30)


def outcome_of(registry: Registry, adapter: Adapter) -> Outcome:
    registry.register_benchmark(adapter)
    try:
        (outcome,) = registry.run([adapter.name])
    finally:
        unregister_benchmark(adapter.name)
    return outcome


def test_an_adapter_measures_in_a_process_of_its_own(registry: Registry) -> None:
    outcome = outcome_of(registry, bad.Adapter("good"))
    assert (outcome.status, outcome.metrics["speed"].value, outcome.metrics["speed"].unit) == ("measured", 3.0, "m/s")


def test_what_an_adapter_prints_is_not_its_answer(registry: Registry) -> None:
    assert outcome_of(registry, bad.Prints("prints")).status == "measured"


@pytest.mark.parametrize(
    ("adapter", "reason"),
    [
        pytest.param(bad.Raises("raises"), "RuntimeError: the wheel came off", id="an exception"),
        pytest.param(bad.Exits("exits"), "SystemExit: bye", id="sys.exit"),
        pytest.param(bad.Dies("dies"), "exit code 7 before it answered: out of coal", id="a process that dies"),
        pytest.param(bad.Floods("floods"), "printed more than 10 MB", id="output without end"),
        pytest.param(bad.Forges("forges", b"\x00{["), "its answer is no JSON", id="an answer that is garbage"),
        pytest.param(bad.Forges("forges", b"[]"), "its answer is no object", id="an answer that is no object"),
        pytest.param(bad.Forges("forges", b'{"metrics": 3}'), "a int, not a mapping", id="an answer without metrics"),
        pytest.param(bad.Forges("forges", b"[" * 100_000), "its answer is no JSON", id="an answer without an end"),
        pytest.param(bad.Forges("forges", b" " * 10_000_001), "longer than 10 MB", id="an answer that is far too long"),
    ],
)
def test_a_crash_is_an_error_with_its_reason(registry: Registry, adapter: Adapter, reason: str) -> None:
    outcome = outcome_of(registry, adapter)
    assert outcome.status == "error"
    assert reason in outcome.reason


@pytest.mark.parametrize(
    ("answer", "reason"),
    [
        pytest.param({"m": {"value": math.nan, "direction": "lower"}}, "not a finite number", id="NaN"),
        pytest.param({"m": {"value": math.inf, "direction": "lower"}}, "not a finite number", id="infinity"),
        pytest.param({"m": {"value": "3", "direction": "lower"}}, "metric m does not fit", id="a text for a number"),
        pytest.param({"m": {"value": 3, "direction": "sideways"}}, "metric m does not fit", id="no direction"),
        pytest.param({"m": {"value": 3}}, "metric m does not fit", id="without a direction"),
        pytest.param({"m": {"value": 3, "direction": "lower", "colour": "red"}}, "unknown field 'colour'", id="an unknown field"),
        pytest.param({"m": 3}, "metric m is a int", id="a bare number"),
        pytest.param([1, 2], "a list, not a mapping", id="a list"),
        pytest.param({}, "measured nothing", id="nothing"),
        pytest.param({"m": object}, "cannot be written as JSON", id="an object"),
        pytest.param({"": {"value": 3, "direction": "lower"}}, "no name of a metric", id="a metric without a name"),
    ],
)
def test_an_answer_of_the_wrong_kind_is_an_error(registry: Registry, answer: Any, reason: str) -> None:
    outcome = outcome_of(registry, bad.Adapter("wrong", answer))
    assert outcome.status == "error"
    assert reason in outcome.reason


def test_a_bool_is_one_or_zero_and_unknown_stays_unknown(registry: Registry) -> None:
    answer = {"ok": {"value": True, "direction": "higher"}, "lost": {"value": None, "direction": "lower"}}
    outcome = outcome_of(registry, bad.Adapter("bools", answer))
    assert {name: metric.value for name, metric in outcome.metrics.items()} == {"ok": 1.0, "lost": None}


def test_one_that_hangs_is_stopped_with_its_children(tmp_path: Path) -> None:
    file = tmp_path / "pid"
    with open_store(str(tmp_path / "store.db")) as store:
        outcome = outcome_of(Registry(store, tmp_path / "data", time_limit_s=5), bad.Hangs("hangs", str(file)))
    assert (outcome.status, outcome.reason) == ("error", "it did not end within 5 s and was stopped")
    assert _is_gone(int(file.read_text(encoding="utf-8")))


def _is_gone(pid: int) -> bool:
    for _ in range(200):
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            return True
        if Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()[0] == "Z":
            return True
        time.sleep(0.05)
    return False


def test_what_goes_wrong_in_one_does_not_stop_the_others(registry: Registry) -> None:
    adapters = [bad.Raises("first"), bad.Needs("second"), bad.Adapter("third")]
    for adapter in adapters:
        register_benchmark(adapter)
    try:
        outcomes = registry.run([adapter.name for adapter in adapters])
    finally:
        for adapter in adapters:
            unregister_benchmark(adapter.name)
    assert [outcome.status for outcome in outcomes] == ["error", "skipped", "measured"]
    assert outcomes[1].reason == "the package no_such_package_anywhere is not installed"


def test_two_that_give_the_same_metric_are_told_apart_by_an_error(registry: Registry) -> None:
    for name in ("one", "two"):
        register_benchmark(bad.Adapter(name))
    try:
        outcomes = registry.run(["one", "two"])
    finally:
        for name in ("one", "two"):
            unregister_benchmark(name)
    assert [outcome.status for outcome in outcomes] == ["measured", "error"]
    assert outcomes[1].reason == "it gives speed, which one gave already; rename it"


@pytest.mark.parametrize(
    ("requires", "told"),
    [
        pytest.param(Requires(), "", id="nothing is needed"),
        pytest.param(Requires(packages=("json",)), "", id="a package that is there"),
        pytest.param(Requires(packages=("nope.nope",)), "the package nope.nope is not installed", id="a package that is not there"),
        pytest.param(Requires(gpu=True), "it needs a GPU, and nvidia-smi shows none", id="a GPU"),
        pytest.param(Requires(min_vram_gb=4), "it needs a GPU with 4 GB, and nvidia-smi shows none", id="memory asks for a GPU too"),
    ],
)
def test_what_is_missing_is_told(requires: Requires, told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert missing(requires) == told


def test_a_gpu_is_held_to_the_memory_that_nvidia_smi_shows(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho 8192\necho 2048\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    assert missing(Requires(min_vram_gb=8)) == ""
    assert missing(Requires(min_vram_gb=8.5)) == "it needs 8.5 GB of GPU memory, and the largest GPU has 8.0 GB"


@pytest.mark.parametrize(
    ("adapter", "told"),
    [
        pytest.param(bad.Adapter("guardrail"), "built-in", id="a name that is taken"),
        pytest.param(bad.Adapter("../etc"), "cannot be called", id="a name that is a path"),
    ],
)
def test_an_adapter_that_cannot_be_registered_is_refused(adapter: Adapter, told: str) -> None:
    with pytest.raises(UsageError, match=told):
        register_benchmark(adapter)


def test_an_adapter_that_no_other_process_could_find_is_refused() -> None:
    class Local(bad.Adapter):
        pass

    with pytest.raises(UsageError, match="cannot be handed to a process of its own"):
        register_benchmark(Local("local"))


def test_an_adapter_that_is_not_there_names_the_nearest(registry: Registry) -> None:
    with pytest.raises(NotFound, match="Did you mean 'guardrail'"):
        registry.run(["guardrial"])


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param({"a": {"value": 1, "direction": "lower", "unit": "\x1b[31mx\n| a"}}, "has the unit", id="a unit that colours"),
        pytest.param({"a": {"value": 1, "direction": "lower", "unit": "x" * 41}}, "up to 40 letters", id="a unit that is a story"),
        pytest.param({"a" * 201: {"value": 1, "direction": "lower"}}, "200 are the most", id="a name that is one"),
    ],
)
def test_names_and_units_that_nobody_could_show_are_refused(registry: Registry, answer: Any, told: str) -> None:
    outcome = outcome_of(registry, bad.Adapter("shows", answer))
    assert (outcome.status, told in outcome.reason) == ("error", True)
    assert outcome.reason.isprintable()


def test_what_an_adapter_says_when_it_fails_cannot_colour_the_terminal(registry: Registry) -> None:
    outcome = outcome_of(registry, bad.Adapter("shows", {"\x1b[31m": 1, "a": {"value": 1, "direction": "\x1b[31m"}}))
    assert outcome.status == "error"
    assert outcome.reason.isprintable()


class OfAPackagePart(bad.Adapter):
    requires: dict[str, Any] = {"packages": ["no_such_package.cloud"]}


PARTS = """
class Parts:
    name, tier, requires = "parts", "fast", {"packages": ["no_such_package.cloud"]}
    run = dict
"""


def test_a_part_of_a_package_that_is_not_there_is_missing(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Also where the adapter is described in a process of its own, as one of a package is."""
    info = tmp_path / "site" / "parts-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: parts\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[flowgauge.adapters]\nparts = parts_module:Parts\n", encoding="utf-8")
    (tmp_path / "site" / "parts_module.py").write_text(PARTS, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    (described,) = registry.run(["parts"])
    for outcome in (described, outcome_of(registry, OfAPackagePart("part"))):
        assert (outcome.status, outcome.reason) == ("skipped", "the package no_such_package.cloud is not installed")


def test_a_class_of_the_script_that_was_started_is_refused_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    here = type("Here", (bad.Adapter,), {"__module__": "__main__"})
    monkeypatch.setattr(sys.modules["__main__"], "Here", here, raising=False)
    with pytest.raises(UsageError, match="where no other process finds it"):
        register_benchmark(here("here"))


@pytest.mark.parametrize("memory", [math.nan, math.inf, -1.0])
def test_an_adapter_that_needs_no_amount_of_memory_is_refused(memory: float) -> None:
    adapter = bad.Adapter("needs")
    adapter.requires = {"min_vram_gb": memory}
    with pytest.raises(UsageError, match="GB"):
        register_benchmark(adapter)


def test_an_adapter_ends_with_the_process_that_started_it_however_that_ends(tmp_path: Path) -> None:
    """A capture that is killed at once cannot tidy up."""
    told = tmp_path / "pid"
    code = f"""
from pathlib import Path
from tests.registry import misbehaving as bad
from flowgauge.app.registry import Registry
from flowgauge.store import open_store

with open_store({str(tmp_path / "store.db")!r}) as store:
    registry = Registry(store, Path({str(tmp_path / "data")!r}))
    registry.register_benchmark(bad.Hangs("hangs", {str(told)!r}))
    registry.run(["hangs"])
"""
    with subprocess.Popen([sys.executable, "-c", code], cwd=Path(__file__).parents[2]) as capturing:
        deadline = time.monotonic() + 60
        while not (told.exists() and told.read_text(encoding="utf-8")):
            assert capturing.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        capturing.kill()
        child = int(told.read_text(encoding="utf-8"))
        while not is_gone(child):
            assert time.monotonic() < deadline
            time.sleep(0.05)

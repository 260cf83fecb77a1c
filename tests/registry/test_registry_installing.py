from __future__ import annotations

import math
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import pytest
from tests.app.review_project import is_gone
from tests.registry.repositories import EXAMPLE, commit, git, make_repository

from flowgauge.app.registry import Registry
from flowgauge.errors import Conflict, NotFound, NotMeasured, UsageError
from flowgauge.registry.installing import Plan
from flowgauge.registry.sources import check_source
from flowgauge.store import open_store


@pytest.fixture
def registry(tmp_path: Path) -> Iterator[Registry]:
    with open_store(str(tmp_path / "store.db")) as store:
        yield Registry(store, tmp_path / "data", time_limit_s=60)


@pytest.fixture(autouse=True)
def _offline(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PIP_NO_INDEX", "1")


def agree(_: Plan) -> bool:
    return True


def left_behind(tmp_path: Path) -> list[str]:
    folder = tmp_path / "data" / "adapters"
    return sorted(each.name for each in folder.iterdir() if each.name != ".lock") if folder.exists() else []


def test_a_package_is_found_by_its_entry_point(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = tmp_path / "package"
    make_repository(source)
    place = tmp_path / "site"
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-index", "--no-deps", "--target", str(place), str(source)]
    subprocess.run(pip, check=True, capture_output=True)
    monkeypatch.syspath_prepend(str(place))
    listed = {each.name: each for each in registry.list_benchmarks()}["sorting"]
    assert (listed.tier, listed.source, listed.error, listed.missing) == ("fast", "package flowgauge-sorting-adapter 0.1.0", "", "")
    (outcome,) = registry.run(["sorting"])
    assert outcome.metrics["sorting_right"].value == 1.0
    assert (outcome.metrics["sorting_ms"].value or 0) > 0


def test_a_package_that_cannot_be_loaded_is_an_error_and_not_left_out(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    info = tmp_path / "site" / "broken-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: broken\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[flowgauge.adapters]\nbroken = no_such_module:Adapter\n", encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    made = registry.capture_snapshot("v1", "abc", "fast")
    assert made.errors == {"broken": "ModuleNotFoundError: No module named 'no_such_module'"}


@pytest.mark.parametrize(
    ("answer", "told"),
    [
        pytest.param(b"{", "its answer is no JSON", id="garbage"),
        pytest.param(b"[" * 100_000, "its answer is no JSON", id="without an end"),
        pytest.param(b"{}", "does not fit", id="nothing"),
        pytest.param(b'{"requires": {}, "tier": ["fast"], "absent": []}', "no tier", id="a tier that is none"),
        pytest.param(b'{"requires": {}, "tier": "fast", "absent": 3}', "cannot be read", id="packages that are none"),
    ],
)
def test_a_package_that_forges_its_description_harms_nobody(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, answer: bytes, told: str
) -> None:
    info = tmp_path / "site" / "forger-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: forger\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[flowgauge.adapters]\nforger = forger_module:Adapter\n", encoding="utf-8")
    code = f"import os, sys\nopen(sys.argv[2], 'wb').write({answer!r})\nos._exit(0)\n"
    (tmp_path / "site" / "forger_module.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    listed = {each.name: each for each in registry.list_benchmarks()}
    assert told in listed["forger"].error
    assert "guardrail" in listed


def test_a_repository_is_installed_at_one_commit_run_from_its_own_environment_and_removed(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EXAMPLE_API_KEY", "not to be seen by it")
    repository = make_repository(tmp_path / "repository")
    module = repository / "sorting_adapter.py"
    good = module.read_text(encoding="utf-8")
    module.write_text(
        good.replace(
            '"sorting_right"', '"seen": {"value": "EXAMPLE_API_KEY" in __import__("os").environ, "direction": "lower"},\n"sorting_right"'
        ),
        encoding="utf-8",
    )
    pinned = commit(repository)
    module.write_text("raise RuntimeError('the newest commit is broken')\n", encoding="utf-8")
    commit(repository)
    plans: list[Plan] = []

    def shown(plan: Plan) -> bool:
        plans.append(plan)
        return True

    made = registry.discover_and_install(str(repository), "mine", consent=shown, commit=pinned)
    assert (made.commit, made.entry_point, plans[0].commit) == (pinned, "sorting", pinned)
    assert find_spec("sorting_adapter") is None
    listed = {each.name: each for each in registry.list_benchmarks()}["mine"]
    assert (listed.tier, listed.source) == ("dynamic", f"repository {repository} at {pinned[:12]}")
    made_snapshot = registry.capture_snapshot("v1", "abc", "all")
    assert made_snapshot.of_tier("dynamic")["sorting_right"].value == 1.0
    assert made_snapshot.metrics["seen"].value == 0.0

    with pytest.raises(Conflict, match="installed already"):
        registry.discover_and_install(str(repository), "mine", consent=agree, commit=pinned)
    assert registry.remove("mine").name == "mine"
    assert (registry.installed(), left_behind(tmp_path)) == ([], [])


def test_without_consent_nothing_is_fetched(registry: Registry, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    with pytest.raises(UsageError, match="nobody agreed"):
        registry.discover_and_install(str(repository), "mine", consent=lambda _: False)
    assert left_behind(tmp_path) == []


def test_the_plan_says_what_will_run_and_pins_the_newest_commit(registry: Registry, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    newest = commit(repository)
    plans: list[Plan] = []

    def shown(plan: Plan) -> bool:
        plans.append(plan)
        return False

    with pytest.raises(UsageError):
        registry.discover_and_install(str(repository), "mine", True, 4.0, consent=shown)
    (plan,) = plans
    assert (plan.commit, plan.requires.gpu, plan.requires.min_vram_gb) == (newest, True, 4.0)
    assert [command.split()[0].rpartition("/")[2] for command in plan.commands] == ["git", "python", "python"]


@pytest.mark.parametrize(
    ("breakage", "told"),
    [
        pytest.param({"build_backend.py": "raise RuntimeError('no build today')\n"}, "installing the package failed", id="its build fails"),
        pytest.param({"sorting_adapter.py": "raise RuntimeError('no import')\n"}, "cannot be loaded", id="it cannot be imported"),
    ],
)
def test_an_install_that_fails_half_way_leaves_nothing_behind(
    registry: Registry, tmp_path: Path, breakage: dict[str, str], told: str
) -> None:
    repository = make_repository(tmp_path / "repository")
    for name, text in breakage.items():
        (repository / name).write_text(text, encoding="utf-8")
    commit(repository)
    with pytest.raises(NotMeasured, match=told):
        registry.discover_and_install(str(repository), "mine", consent=agree)
    assert (registry.installed(), left_behind(tmp_path)) == ([], [])


MISBEHAVING = """
import os, sys, time

class Sorting:
    name, tier, requires = "sorting", "fast", {}

    def run(self):
        BODY
"""


@pytest.mark.parametrize(
    ("body", "told"),
    [
        pytest.param("time.sleep(600)", "did not end within 6 s", id="it hangs"),
        pytest.param("while True: os.write(1, b'x' * 65536)", "printed more than 10 MB", id="it prints without end"),
        pytest.param("open(sys.argv[2], 'wb').write(b'{'); os._exit(0)", "its answer is no JSON", id="its answer is garbage"),
        pytest.param("os.kill(os.getpid(), 9)", "before it answered", id="it is killed"),
    ],
)
def test_an_installed_adapter_that_misbehaves_is_reported(registry: Registry, tmp_path: Path, body: str, told: str) -> None:
    repository = make_repository(tmp_path / "repository")
    text = MISBEHAVING.replace("BODY", body) + "\n\nSortingAdapter = Sorting\n"
    module = repository / "sorting_adapter.py"
    name = re.search(r"^class (\w+)", module.read_text(encoding="utf-8"), re.MULTILINE)
    assert name
    module.write_text(text.replace("SortingAdapter", name[1]), encoding="utf-8")
    commit(repository)
    registry.discover_and_install(str(repository), "mine", consent=agree)
    with open_store(str(tmp_path / "store.db")) as store:
        made = Registry(store, tmp_path / "data", time_limit_s=6).capture_snapshot("v1", "abc", "all")
    assert told in made.errors["mine"]
    assert "sorting_right" not in made.metrics


def test_an_install_that_is_interrupted_leaves_nothing_behind(registry: Registry, tmp_path: Path) -> None:
    """In the middle of its build, which never ends."""
    repository = make_repository(tmp_path / "repository")
    told = tmp_path / "pid"
    build = f"import os, time\nopen({str(told)!r}, 'w').write(str(os.getpid()))\ntime.sleep(600)\n"
    (repository / "build_backend.py").write_text(build, encoding="utf-8")
    commit(repository)
    command = [sys.executable, "-m", "flowgauge", "registry", "install", str(repository), "--name", "mine", "--yes"]
    environment = {**os.environ, "FLOWGAUGE_DATA": str(tmp_path / "data"), "FLOWGAUGE_DB": str(tmp_path / "store.db")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as installing:
        deadline = time.monotonic() + 100
        while not (told.exists() and told.read_text(encoding="utf-8")):
            assert installing.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        installing.send_signal(signal.SIGTERM)
        assert installing.wait(60) == 130
    assert (registry.installed(), left_behind(tmp_path)) == ([], [])
    assert is_gone(int(told.read_text(encoding="utf-8")))


def test_after_an_install_was_killed_the_next_goes_on(registry: Registry, tmp_path: Path) -> None:
    """Killed at once, in the middle of a build that writes without end to the folder of the install."""
    repository = make_repository(tmp_path / "repository")
    good = (repository / "build_backend.py").read_text(encoding="utf-8")
    told, place = tmp_path / "pid", tmp_path / "data" / "adapters" / "mine" / "env"
    build = (
        f"import os, pathlib\nopen({str(told)!r}, 'w').write(str(os.getpid()))\nnumber = 0\nwhile True:\n    number += 1\n"
        f"    folder = pathlib.Path({str(place)!r}, str(number % 50))\n    folder.mkdir(parents=True, exist_ok=True)\n"
        "    try: (folder / str(number)).write_text('x')\n    except OSError: pass\n"
    )
    (repository / "build_backend.py").write_text(build, encoding="utf-8")
    commit(repository)
    command = [sys.executable, "-m", "flowgauge", "registry", "install", str(repository), "--name", "mine", "--yes"]
    environment = {**os.environ, "FLOWGAUGE_DATA": str(tmp_path / "data"), "FLOWGAUGE_DB": str(tmp_path / "store.db")}
    with subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as installing:
        deadline = time.monotonic() + 100
        while not (told.exists() and told.read_text(encoding="utf-8")):
            assert installing.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.05)
        installing.kill()
    (repository / "build_backend.py").write_text(good, encoding="utf-8")
    commit(repository)
    assert registry.discover_and_install(str(repository), "mine", consent=agree).name == "mine"
    assert is_gone(int(told.read_text(encoding="utf-8")))


def test_a_commit_that_is_not_there_leaves_nothing_behind(registry: Registry, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    with pytest.raises(NotMeasured, match="git failed"):
        registry.discover_and_install(str(repository), "mine", consent=agree, commit="0" * 40)
    assert left_behind(tmp_path) == []


def test_what_a_killed_install_left_is_not_installed_and_is_swept_by_the_next(registry: Registry, tmp_path: Path) -> None:
    left = tmp_path / "data" / "adapters" / "killed" / "source"
    left.mkdir(parents=True)
    assert registry.installed() == []
    repository = make_repository(tmp_path / "repository")
    with pytest.raises(NotMeasured):
        registry.discover_and_install(str(repository), "mine", consent=agree, commit="0" * 40)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    "url",
    [
        pytest.param("--upload-pack=touch pwned", id="an option of git"),
        pytest.param("-oProxyCommand=x", id="an option of ssh"),
        pytest.param("ext::sh -c touch% pwned", id="a program as transport"),
        pytest.param("ext::sh", id="a program without blanks"),
        pytest.param("https://example.com/a\nb", id="a newline"),
        pytest.param("https://example.com/a b", id="a blank"),
        pytest.param("https://example.com/../../etc", id="a URL that leads upwards"),
        pytest.param("../elsewhere", id="a path that leads upwards"),
        pytest.param("ssh://-oProxyCommand=x/path", id="a host that is an option"),
        pytest.param("ssh://-l@example.com/path", id="a user that is an option"),
        pytest.param("git@-oProxyCommand:path", id="the same in the short form"),
        pytest.param("git@host::ext", id="a helper in the short form"),
        pytest.param("http://example.com/a", id="no encryption"),
        pytest.param("git://example.com/a", id="git's own protocol"),
        pytest.param("file:///tmp", id="a file URL"),
        pytest.param("fd::17", id="a descriptor"),
        pytest.param("https://user:secret@example.com/a", id="a password"),
        pytest.param("https://token@example.com/a", id="a token"),
        pytest.param("https:///path", id="no host"),
        pytest.param("/no/such/folder/anywhere", id="a folder that is not there"),
        pytest.param("", id="nothing"),
    ],
)
def test_a_source_that_could_do_more_than_be_cloned_is_refused(url: str, registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UsageError):
        registry.discover_and_install(url, "mine", consent=agree)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize(
    "url",
    [
        "https://example.com/team/repo.git",
        "ssh://git@example.com:2222/team/repo",
        "git@example.com:team/repo.git",
        "https://[::1]/team/repo",
    ],
)
def test_the_usual_ways_to_name_a_repository_are_taken(url: str) -> None:
    assert check_source(url) == url


def test_a_folder_is_taken_by_its_whole_path() -> None:
    assert check_source(str(EXAMPLE)) == str(EXAMPLE)


def test_a_folder_with_a_blank_in_its_path_is_installed_from(registry: Registry, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "my repository")
    assert registry.discover_and_install(str(repository), "mine", consent=agree).url == str(repository)


def test_a_repository_without_a_commit_is_told(registry: Registry, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    git(tmp_path / "empty", "init", "-q")
    with pytest.raises(UsageError, match="has no commit"):
        registry.discover_and_install(str(tmp_path / "empty"), "mine", consent=agree)


def offer(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A package that has an adapter `taken`."""
    info = site / "taker-1.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: taker\nVersion: 1\n", encoding="utf-8")
    (info / "entry_points.txt").write_text("[flowgauge.adapters]\ntaken = taker_module:Taker\n", encoding="utf-8")
    code = "class Taker:\n    name, tier, requires = 'taken', 'fast', {}\n    run = lambda _: {'a': {'value': 1, 'direction': 'lower'}}\n"
    (site / "taker_module.py").write_text(code, encoding="utf-8")
    monkeypatch.syspath_prepend(str(site))


def test_a_name_that_a_package_has_cannot_be_installed(registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    offer(tmp_path / "site", monkeypatch)
    with pytest.raises(UsageError, match="taken is an adapter of an installed package"):
        registry.discover_and_install(str(EXAMPLE), "taken", consent=agree, commit="0" * 40)


def record(tmp_path: Path, name: str, text: str) -> None:
    folder = tmp_path / "data" / "adapters" / name
    folder.mkdir(parents=True)
    (folder / "adapter.json").write_text(text, encoding="utf-8")


def test_a_package_that_takes_a_name_later_is_no_error_of_the_fast_tier(
    registry: Registry, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    record(tmp_path, "taken", "{")
    offer(tmp_path / "site", monkeypatch)
    made = registry.capture_snapshot("v1", "abc")
    assert (made.errors, made.metrics["a"].value) == ({}, 1)
    assert "the name is taken" in next(each.error for each in registry.list_benchmarks() if each.tier == "dynamic")


@pytest.mark.parametrize("text", ["{", '{"requires": {"min_vram_gb": null}}', ""])
def test_a_damaged_record_is_an_error_of_that_adapter_alone_and_can_be_removed(registry: Registry, tmp_path: Path, text: str) -> None:
    record(tmp_path, "broken", text)
    listed = {each.name: each for each in registry.list_benchmarks()}
    assert "is no record of an adapter" in listed["broken"].error
    assert listed["guardrail"].error == ""
    assert (registry.capture_snapshot("v1", "abc").errors, list(registry.capture_snapshot("v1", "abc", "all").errors)) == ({}, ["broken"])
    assert registry.remove("broken").name == "broken"
    assert (registry.installed(), left_behind(tmp_path)) == ([], [])


@pytest.mark.parametrize("memory", [math.nan, math.inf, -1.0])
def test_an_amount_of_memory_that_is_none_is_refused(memory: float, registry: Registry, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no amount of GPU memory"):
        registry.discover_and_install(str(EXAMPLE), "mine", min_vram_gb=memory, consent=agree, commit="0" * 40)
    assert left_behind(tmp_path) == []


@pytest.mark.parametrize("name", ["..", "../up", "a/b", "-x", "", "a" * 65, "a\nb", ".hidden", "guardrail", "a..b"])
def test_a_name_that_is_no_safe_file_name_is_refused(name: str, registry: Registry) -> None:
    with pytest.raises(UsageError):
        registry.discover_and_install(str(EXAMPLE), name, consent=agree, commit="0" * 40)


@pytest.mark.parametrize("commit_id", ["main", "--help", "abc123", "A" * 40])
def test_a_commit_that_is_no_whole_id_is_refused(commit_id: str, registry: Registry) -> None:
    with pytest.raises(UsageError, match="no whole commit id"):
        registry.discover_and_install(str(EXAMPLE), "mine", consent=agree, commit=commit_id)


def test_removing_what_is_not_installed_is_told(registry: Registry) -> None:
    with pytest.raises(NotFound, match="No adapter 'mine' is installed"):
        registry.remove("mine")

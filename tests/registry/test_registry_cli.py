from __future__ import annotations

import json
from pathlib import Path

import pytest
from click.testing import CliRunner, Result
from tests.registry.repositories import make_repository

from flowgauge.app.registry import Registry
from flowgauge.cli.root import cli
from flowgauge.errors import BadFile, UsageError
from flowgauge.store import open_store


@pytest.fixture(autouse=True)
def _place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("FLOWGAUGE_DATA", str(tmp_path / "data"))


def call(*arguments: str, answer: str = "") -> Result:
    return CliRunner().invoke(cli, arguments, input=answer, standalone_mode=False)


def capture(version: str, flush_rate: float) -> Result:
    Path("health.json").write_text(json.dumps({"flush_rate": flush_rate}), encoding="utf-8")
    Path("registry.yaml").write_text("adapters:\n  world_model: {source: health.json}\n", encoding="utf-8")
    return call("snapshot", "capture", version, "--settings", "registry.yaml", "--git-sha", "abc", "--json")


def test_a_version_is_captured_listed_shown_compared_and_checked() -> None:
    made = capture("v1", 0.8)
    assert (made.return_value, json.loads(made.stdout)["metrics"]["flush_rate"]["value"]) == (0, 0.8)
    assert Path("data/benchmarks/v1.json").is_file()
    capture("v2", 0.76)
    capture("v3", 0.7)
    assert [each["version"] for each in json.loads(call("snapshot", "list", "--json").stdout)["snapshots"]] == ["v1", "v2", "v3"]
    assert "flush_rate" in call("snapshot", "show", "v1").stdout
    assert "regressed" in call("snapshot", "compare", "v1", "v3").stdout
    codes = [call("upgrade-check", *versions).return_value for versions in (("v1", "v2"), ("v1", "v3"), ("v3", "v4"), ("v0", "v1"))]
    assert codes == [0, 1, 3, 3]


def test_a_first_version_is_let_through_unless_strict() -> None:
    capture("v1", 0.8)
    assert call("upgrade-check", "v0", "v1").return_value == 0
    assert call("upgrade-check", "v0", "v1", "--strict").return_value == 3


def test_a_damaged_file_is_warned_of_in_the_list(tmp_path: Path) -> None:
    capture("v1", 0.8)
    (tmp_path / "data" / "benchmarks" / "v0.json").write_text("{", encoding="utf-8")
    listed = call("snapshot", "list")
    assert (listed.exception, "v1" in listed.stdout, "v0.json" in listed.stderr) == (None, True, True)
    assert list(json.loads(call("snapshot", "list", "--json").stdout)["damaged"]) == ["v0"]


def test_a_prune_says_what_of_snapshots_it_deletes() -> None:
    capture("v1", 0.8)
    assert "0 snapshots" in call("store", "prune", "--keep", "0").stdout
    assert "1 snapshots" in call("store", "prune", "--keep", "0", "--snapshots").stdout


def test_a_capture_that_measures_nothing_is_not_measured() -> None:
    assert call("snapshot", "capture", "v1").return_value == 3


def test_adapters_are_listed_with_what_they_miss() -> None:
    listed = {each["name"]: each for each in json.loads(call("registry", "list", "--json").stdout)["adapters"]}
    assert "no source is named" in listed["world_model"]["missing"]
    assert listed["quantiphy"]["tier"] == "heavy"


def test_an_install_asks_first_and_shows_what_will_run(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    done = call("registry", "install", str(repository), "--name", "mine", answer="n\n")
    assert "nobody agreed" in str(done.exception)
    assert "pip install" in done.output
    assert not (tmp_path / "data" / "adapters" / "mine").exists()


def test_an_install_that_nobody_answers_is_not_agreed_to(tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    done = call("registry", "install", str(repository), "--name", "mine", answer="")
    assert isinstance(done.exception, UsageError)
    assert "nobody agreed" in str(done.exception)
    assert "--yes" in str(done.exception)


def test_an_unusable_data_folder_is_a_usage_error(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repository = make_repository(tmp_path / "repository")
    monkeypatch.setenv("FLOWGAUGE_DATA", "/proc/x")
    for command in (("snapshot", "capture", "v1"), ("registry", "install", str(repository), "--name", "mine", "--yes")):
        done = call(*command)
        assert isinstance(done.exception, UsageError)
        assert "The data folder cannot be used" in str(done.exception)


def measure(version: str, flush_rate: float, correction_density: float) -> None:
    Path("health.json").write_text(json.dumps({"flush_rate": flush_rate, "correction_density": correction_density}), encoding="utf-8")
    Path("registry.yaml").write_text("adapters:\n  world_model: {source: health.json}\n", encoding="utf-8")
    assert call("snapshot", "capture", version, "--settings", "registry.yaml", "--git-sha", "abc").return_value == 0


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        pytest.param((1.0, 1.0), (0.95, 1.05), 0, id="exactly 0.95 and exactly 1.05"),
        pytest.param((1.0, 1.0), (0.9499, 1.0), 1, id="below 0.95"),
        pytest.param((1.0, 1.0), (1.0, 1.0501), 1, id="above 1.05"),
        pytest.param((0.7, 0.1), (0.665, 0.105), 0, id="the same of numbers that no binary fraction is"),
        pytest.param((0.0, 0.0), (0.0, 0.0), 0, id="zero stays zero"),
        pytest.param((1.0, 0.0), (1.0, 0.000001), 1, id="harm from zero"),
        pytest.param((-100.0, -100.0), (-105.0, -95.0), 0, id="negative, by five percent of their size"),
        pytest.param((-100.0, 1.0), (-105.1, 1.0), 1, id="negative, by more"),
    ],
)
def test_the_command_and_the_method_agree_on_the_boundary(
    tmp_path: Path, old: tuple[float, float], new: tuple[float, float], code: int
) -> None:
    measure("v1", *old)
    measure("v2", *new)
    assert call("upgrade-check", "v1", "v2").return_value == code
    with open_store() as store:
        safe, reason = Registry(store, tmp_path / "data").is_upgrade_safe("v1", "v2")
    assert safe == (code == 0), reason


def test_a_metric_that_vanished_is_not_measured_and_a_value_that_is_no_number_is_refused(tmp_path: Path) -> None:
    measure("v1", 0.8, 0.1)
    capture("v2", 0.8)
    checked = call("upgrade-check", "v1", "v2")
    assert (checked.return_value, "correction_density vanished" in checked.stdout) == (3, True)
    file = tmp_path / "data" / "benchmarks" / "v1.json"
    file.write_text(file.read_text(encoding="utf-8").replace("0.1", "NaN"), encoding="utf-8")
    assert isinstance(call("upgrade-check", "v1", "v2").exception, BadFile)

"""The tree is what the design says: imports go down, files and functions are short, everything is named and told."""

from __future__ import annotations

import ast
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import flowgauge

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "flowgauge"
MODULES = {str(file.relative_to(SOURCE)): file.read_text(encoding="utf-8") for file in sorted(SOURCE.rglob("*.py"))}
LONGEST_FILE_LINES = 400
LONGEST_FUNCTION_LINES = 60
MOST_NAMES = 15
OTHER_NAMES = {"map": "map_items", "workflow": "subworkflow"}
"""Kinds of node whose file is not called as they are: the name is taken by a builtin or a noun."""


def _read(file: Path) -> str:
    return file.read_text(encoding="utf-8")


def _files() -> list[Path]:
    """All that is or would be committed."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "-z"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\0")
    found = [ROOT / name for name in listed if name] or [
        *SOURCE.rglob("*.py"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / "tests").rglob("*.py"),
    ]
    return [file for file in found if file.is_file()]


def test_imports_go_down_only() -> None:
    program = Path(sys.executable).parent / "lint-imports"
    done = subprocess.run([str(program), "--no-cache"], cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_a_module_says_what_it_is_for() -> None:
    assert [name for name, text in MODULES.items() if not ast.get_docstring(ast.parse(text))] == []


def test_a_file_is_short() -> None:
    lengths = {name: len(text.splitlines()) for name, text in MODULES.items()}
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FILE_LINES} == {}


def test_a_function_is_short() -> None:
    lengths = {
        f"{name}:{node.lineno} {node.name}": (node.end_lineno or node.lineno) - node.lineno + 1
        for name, text in MODULES.items()
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    }
    assert len(lengths) > 500
    assert {name: lines for name, lines in lengths.items() if lines > LONGEST_FUNCTION_LINES} == {}


def test_the_root_has_few_names() -> None:
    assert 0 < len(flowgauge.__all__) <= MOST_NAMES
    assert len(set(flowgauge.__all__)) == len(flowgauge.__all__)


def test_the_root_shows_its_names_and_no_others() -> None:
    assert sorted(flowgauge.__all__) == dir(flowgauge)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = flowgauge.no_such_name


@pytest.mark.parametrize("name", flowgauge.__all__)
def test_a_name_of_the_root_is_there_and_is_documented(name: str) -> None:
    value = getattr(flowgauge, name)
    assert isinstance(value, str) or (inspect.getdoc(value) or "").strip()
    assert f"`{name}`" in _read(ROOT / "docs" / "README.md")


def test_the_root_imports_nothing_before_it_is_asked() -> None:
    code = "import sys, flowgauge; print(*(name for name in sys.modules if name.startswith('flowgauge')))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(done.stdout.split()) == {"flowgauge", "flowgauge._version"}


def test_a_kind_of_node_is_one_file_and_one_row() -> None:
    from flowgauge.nodes.table import NODES

    homes = {name: kind.struct.__module__ for name, kind in NODES.items()}
    assert homes == {name: f"flowgauge.nodes.{OTHER_NAMES.get(name, name)}" for name in NODES}
    declaring = {
        f"flowgauge.nodes.{file.stem}"
        for file in (SOURCE / "nodes").glob("*.py")
        if re.search(r"^KIND = Kind\(", _read(file), re.MULTILINE)
    }
    assert declaring == set(homes.values())


def test_every_kind_of_node_and_every_field_of_it_is_documented() -> None:
    import msgspec

    from flowgauge.model.workflow import Node
    from flowgauge.nodes.table import NODES

    parts = re.split(r"^### `([a-z]+)`$", _read(ROOT / "docs" / "workflow-file.md"), flags=re.MULTILINE)
    sections = dict(zip(parts[1::2], parts[2::2], strict=True))
    assert set(sections) == set(NODES)
    shared = {field.encode_name for field in msgspec.structs.fields(Node)}
    for name, kind in NODES.items():
        own = {field.encode_name for field in msgspec.structs.fields(kind.struct)} - shared
        assert {field for field in own if f"`{field}`" not in sections[name]} == set(), name


@pytest.mark.parametrize("file", sorted((ROOT / "requirements").glob("*.txt")), ids=lambda file: file.name)
def test_a_lock_names_no_host_and_pins_everything_with_a_hash(file: Path) -> None:
    text = _read(file)
    assert not re.search(r"://|--(extra-)?index-url|--find-links|--trusted-host|@ ", text)
    requirements = re.split(r"\n(?=\S)", text.strip())
    assert len(requirements) > 10
    assert [line.split()[0] for line in requirements if "==" not in line or "--hash=sha256:" not in line] == []


def test_no_file_names_a_place_of_one_machine() -> None:
    """Homes and work folders of whoever wrote it. (The pattern is put together here, so that this file is none of them.)"""
    places = "|".join(["ho" + "me/[a-z]", "wo" + "rk/", "Us" + "ers/[A-Za-z]", "ro" + "ot/"])
    pattern = re.compile(rf"(?<![\w.}}/])/(?:{places})".encode())
    found = {str(file.relative_to(ROOT)): match[0] for file in _files() if (match := pattern.search(file.read_bytes()))}
    assert found == {}

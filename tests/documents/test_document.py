"""Files become plain values that know their lines; what cannot is refused, quickly and with its place."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.documents.document import read_document, scan_text
from flowgauge.errors import BadFile


def refusal(text: str, **options: Any) -> str:
    with pytest.raises(BadFile) as caught:
        document = scan_text(text, "w.yaml", **options)
        raise BadFile("w.yaml", document.problems)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("no", "no", id="no is a word"),
        pytest.param("on", "on", id="on is a word"),
        pytest.param("yes", "yes", id="yes is a word"),
        pytest.param("true", True, id="true is a boolean"),
        pytest.param("False", False, id="False is a boolean"),
        pytest.param("2024-05-01", "2024-05-01", id="a date is text"),
        pytest.param("12:30:45", "12:30:45", id="a time is text"),
        pytest.param("1_000", "1_000", id="underscores make no number"),
        pytest.param("010", 10, id="a leading zero is decimal"),
        pytest.param("0o10", 8, id="octal"),
        pytest.param("0x1F", 31, id="hexadecimal"),
        pytest.param("1e3", 1000.0, id="an exponent"),
        pytest.param(".5", 0.5, id="a fraction alone"),
        pytest.param(".nan", ".nan", id="not a number is text"),
        pytest.param("~", None, id="a tilde is null"),
        pytest.param("", None, id="nothing is null"),
        pytest.param("'1'", "1", id="quotes make text"),
        pytest.param("!!str 1", "1", id="a tag of a JSON type is allowed"),
    ],
)
def test_plain_words(text: str, value: Any) -> None:
    assert scan_text(f"key:\n  {text}\n", "w.yaml").value == {"key": value}


def test_lines_are_those_of_keys_and_items() -> None:
    document = scan_text("a: 1\nb:\n  - x\n  - c: |\n      one\n      two\n", "w.yaml")
    assert [document.line_of(way) for way in (("a",), ("b",), ("b", 0), ("b", 1), ("b", 1, "c"))] == [1, 2, 3, 4, 4]
    assert document.find(("b", 1, "c")).content_line == 5
    assert document.line_of(("b", 1, "nope", 3)) == 4


def test_json_with_tabs_has_lines_too() -> None:
    document = scan_text('{\n\t"a": [\n\t\t1,\n\t\t{"b": null}\n\t]\n}', "w.yaml")
    assert document.value == {"a": [1, {"b": None}]}
    assert document.line_of(("a", 1, "b")) == 4


def test_merge_keys_are_filled_in_and_what_is_written_wins() -> None:
    document = scan_text("x: &x {a: 1, b: 2}\ny: &y {b: 5, c: 6}\nz:\n  <<: [*x, *y]\n  a: 0\n", "w.yaml")
    assert document.value["z"] == {"a": 0, "b": 2, "c": 6}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("a: 1\nb: 2\na: 3", "w.yaml:3: a: The key 'a' was given on line 1 already.", id="a key given twice"),
        pytest.param('{"a": 1,\n"a": 2}', "w.yaml:2: a: The key 'a' was given on line 1 already.", id="a key given twice in JSON"),
        pytest.param("a: !!python/object:os.system x", "w.yaml:1: a: The tag !!python/object:os.system is not allowed", id="a python tag"),
        pytest.param("a: !custom x", "The tag !custom is not allowed", id="any other tag"),
        pytest.param("a: &x [*x]", "w.yaml:1: The alias *x contains itself.", id="an alias in itself"),
        pytest.param("a: *x", "w.yaml:1: ", id="an alias of nothing"),
        pytest.param("a: 1\n---\nb: 2", "w.yaml:2: A second document begins here.", id="two documents"),
        pytest.param("", "w.yaml: The file is empty. Fill it, or name another file.", id="an empty file"),
        pytest.param("# only a comment\n", "w.yaml: The file holds no value.", id="only a comment"),
        pytest.param("a:\n\tb: 1", "Indent with spaces, not tabs", id="a tab in YAML"),
        pytest.param("a: {{ inputs.x }}", "put braces that are text in quotes", id="a template without quotes"),
        pytest.param("a: b: c", "w.yaml:1: This is not YAML: mapping values are not allowed", id="two colons"),
        pytest.param("ok: 1\na: \x07", "w.yaml:2: The character U+0007 cannot stand in YAML.", id="a control character"),
        pytest.param("a: 99999999999999999999", "w.yaml:1: a: The number is too large", id="a number past 64 bits"),
        pytest.param("a: 1e999", "w.yaml:1: a: The number is too large", id="a number past all bits"),
        pytest.param("[" * 100_000, "nested more than 60 deep", id="deep flow nesting"),
        pytest.param("- " * 10_000 + "x", "nested more than 60 deep", id="deep block nesting"),
        pytest.param("- x\n" * 150_000, "stands for more than 100000 values", id="very many values"),
        pytest.param("? [a]\n: 1", "A key must be a word.", id="a list as a key"),
    ],
)
def test_what_is_refused(text: str, message: str) -> None:
    assert message in refusal(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param('{"a": 1,\n}', "w.yaml:2: This is not JSON: a key in double quotes is missing.", id="a trailing comma"),
        pytest.param('{"a" 1}', "':' is missing", id="no colon"),
        pytest.param('{"a": nope}', "'nope' is no value", id="a bare word"),
        pytest.param('["a"', "it ends too early", id="half a list"),
        pytest.param('"a\nb"', "This is not JSON", id="a line break in a string"),
        pytest.param("[1] [2]", "there is more after the end", id="two values"),
        pytest.param("[" * 100_000, "nested more than 60 deep", id="deep nesting"),
        pytest.param("[99999999999999999999]", "too large", id="a large number"),
        pytest.param('{"a": "\\ud83d\\ude00",\n"b": "\\ud800"}', "w.yaml:2: \\ud800 is half of a surrogate pair", id="half a character"),
        pytest.param('{"\\udc00": 1}', "w.yaml:1: \\udc00 is half of a surrogate pair", id="half a character in a key"),
    ],
)
def test_what_is_refused_as_json(text: str, message: str) -> None:
    assert message in refusal(text, is_json=True)


def test_a_yaml_bomb_is_refused() -> None:
    levels = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    levels += [f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 20)]
    assert "stands for more than 100000 values" in refusal("\n".join(levels))


def test_a_bomb_of_merge_keys_is_refused() -> None:
    levels = ["a0: &a0 {k: [x, x, x, x, x, x, x, x, x, x]}"]
    levels += [f"a{n}: &a{n} {{l: [{', '.join([f'*a{n - 1}'] * 10)}], <<: *a{n - 1}}}" for n in range(1, 20)]
    assert "stands for more than 100000 values" in refusal("\n".join(levels))


def test_a_file_of_fifty_megabytes_is_refused_without_being_read(tmp_path: Path) -> None:
    file = tmp_path / "big.yaml"
    with file.open("wb") as out:
        out.truncate(50_000_000)
    with pytest.raises(BadFile, match="larger than 5 MB"):
        read_document(file)


def test_a_file_that_is_not_utf8_names_byte_and_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes("name: a\ndescription: é\n".encode("latin-1"))
    with pytest.raises(BadFile, match=r":2: The file is not UTF-8: byte 0xe9 at offset 21\."):
        read_document(file)


def test_a_byte_order_mark_is_allowed(tmp_path: Path) -> None:
    file = tmp_path / "bom.yaml"
    file.write_bytes(b"\xef\xbb\xbfname: a\n")
    assert read_document(file).value == {"name": "a"}


@pytest.mark.parametrize("name", ["missing.yaml", "."])
def test_what_cannot_be_opened_is_a_bad_file(tmp_path: Path, name: str) -> None:
    with pytest.raises(BadFile):
        read_document(tmp_path / name)


JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=12,
)


@settings(deadline=None)
@given(JSON, st.sampled_from([None, 2, "\t"]))
def test_json_comes_back_as_it_was_written(value: Any, indent: int | str | None) -> None:
    assert scan_text(json.dumps(value, indent=indent), "w.json", is_json=True).value == value


@settings(deadline=None)
@given(JSON)
def test_json_in_a_yaml_file_comes_back_as_it_was_written(value: Any) -> None:
    assert scan_text(json.dumps({"v": value}), "w.yaml").value == {"v": value}


@settings(deadline=None)
@given(st.one_of(st.text(max_size=120), st.text(alphabet="ab:-&*<!|>{}[]\"'#%@, \n\t0123", max_size=120)), st.booleans())
def test_random_text_is_a_document_or_a_bad_file(text: str, is_json: bool) -> None:
    try:
        document = scan_text(text, "w.yaml", is_json=is_json)
    except BadFile as error:
        assert error.problems
        return
    json.dumps(document.value)

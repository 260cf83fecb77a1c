"""One byte changed anywhere in a bundle is found, and the file it is in is named; what is no bundle is not even read."""

from __future__ import annotations

import io
import os
import shutil
import stat
import subprocess
import zipfile
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.perf.replay.conftest import put

from flowgauge.errors import BadFile, Conflict
from flowgauge.perf.replay import archive
from flowgauge.perf.replay.archive import CALLS, INTEGRITY, MANIFEST, NAMES, RUN, SEALED, SIGNATURE, VALIDATOR, zipped
from flowgauge.perf.replay.bundle import open_bundle
from flowgauge.perf.replay.integrity import broken, integrity_of


def opened(content: bytes, folder: Path) -> None:
    path = folder / "bundle.zip"
    path.write_bytes(content)
    open_bundle(path)


@st.composite
def flips(draw: st.DrawFn, length: int) -> tuple[int, int]:
    """A place, and what is laid over the byte there."""
    return draw(st.integers(0, length - 1)), draw(st.integers(1, 255))


def flipped(content: bytes, place: int, by: int) -> bytes:
    return content[:place] + bytes([content[place] ^ by]) + content[place + 1 :]


def test_what_record_wrote_is_whole(files: dict[str, bytes], tmp_path: Path) -> None:
    bundle = open_bundle(put(tmp_path / "bundle", files))
    assert set(files) == {*SEALED, INTEGRITY}
    assert (bundle.run.task_ref, bundle.run.seed, bundle.manifest.calls, bundle.signer) == ("wall@2", 7, 1, "")
    opened(zipped(files), tmp_path)


@given(data=st.data())
def test_any_byte_of_any_file_changed_is_found_and_its_file_is_named(files: dict[str, bytes], data: st.DataObject) -> None:
    name = data.draw(st.sampled_from(sorted(files)))
    place, by = data.draw(flips(len(files[name])))
    problems = broken({**files, name: flipped(files[name], place, by)})
    assert [problem.split()[0] for problem in problems] == [name]


@given(data=st.data())
def test_any_byte_of_the_zip_changed_is_found(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = zipped(files)
    place, by = data.draw(flips(len(content)))
    with pytest.raises(BadFile):
        opened(flipped(content, place, by), tmp_path_factory.getbasetemp())


@pytest.mark.parametrize(
    "region",
    [
        pytest.param(lambda content: content.index(b"PK\x03\x04") + 10, id="the time in a local header"),
        pytest.param(lambda content: content.index(b"PK\x01\x02") + 38, id="the rights in the directory"),
        pytest.param(lambda content: content.index(b"PK\x01\x02") + 5, id="the system in the directory"),
        pytest.param(lambda content: len(content) - 1, id="the last byte of all"),
        pytest.param(lambda content: content.index(b"manifest.json"), id="a name in a local header"),
        pytest.param(lambda content: content.rindex(b"manifest.json"), id="a name in the directory"),
    ],
)
def test_a_byte_of_the_zip_that_belongs_to_no_file_counts_too(
    files: dict[str, bytes], tmp_path: Path, region: Callable[[bytes], int]
) -> None:
    content = zipped(files)
    with pytest.raises(BadFile):
        opened(flipped(content, region(content), 0x01), tmp_path)


@given(data=st.data())
def test_a_zip_that_is_cut_short_or_goes_on_is_refused(
    files: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    content = zipped(files)
    cut = data.draw(st.one_of(st.integers(0, len(content) - 1).map(lambda end: content[:end]), st.binary(min_size=1).map(content.__add__)))
    with pytest.raises(BadFile):
        opened(cut, tmp_path_factory.getbasetemp())


@pytest.mark.parametrize("name", [*SEALED, INTEGRITY])
def test_a_missing_file_is_named(files: dict[str, bytes], tmp_path: Path, name: str) -> None:
    left = {other: content for other, content in files.items() if other != name}
    with pytest.raises(BadFile, match=f"{name} is missing"):
        open_bundle(put(tmp_path / "bundle", left))
    with pytest.raises(BadFile, match=f"{name} is missing"):
        opened(zipped(left), tmp_path)


@pytest.mark.parametrize("name", ["notes.txt", ".hidden", "RUN.json", "run.json "])
def test_a_file_too_many_is_named(files: dict[str, bytes], tmp_path: Path, name: str) -> None:
    with pytest.raises(BadFile, match=repr(name)):
        open_bundle(put(tmp_path / "bundle", {**files, name: b"x"}))
    with pytest.raises(BadFile, match=repr(name)):
        opened(zipped({**files, name: b"x"}), tmp_path)


def test_a_file_that_integrity_does_not_list_is_named(files: dict[str, bytes], tmp_path: Path) -> None:
    fewer = integrity_of({name: files[name] for name in SEALED if name != CALLS})
    with pytest.raises(BadFile, match=r"calls\.jsonl is not in integrity\.sha256"):
        open_bundle(put(tmp_path / "bundle", {**files, INTEGRITY: fewer}))


def test_a_line_for_a_file_that_is_not_there_is_named(files: dict[str, bytes], tmp_path: Path) -> None:
    more = integrity_of({**{name: files[name] for name in SEALED}, "key.pem": b""})
    with pytest.raises(BadFile, match=r"key\.pem is in integrity\.sha256 and not in the bundle"):
        open_bundle(put(tmp_path / "bundle", {**files, INTEGRITY: more}))


@pytest.mark.skipif(shutil.which("sha256sum") is None, reason="there is no sha256sum here")
def test_the_common_tool_reads_the_integrity_file(files: dict[str, bytes], tmp_path: Path) -> None:
    folder = put(tmp_path / "bundle", files)
    check = ["sha256sum", "--check", "--strict", "--quiet", INTEGRITY]
    assert subprocess.run(check, cwd=folder, check=False).returncode == 0
    (folder / RUN).write_bytes(files[RUN] + b" ")
    assert subprocess.run(check, cwd=folder, check=False, capture_output=True).returncode == 1


@pytest.mark.parametrize("name", ["../evil.txt", "/etc/evil", "..", "a/../../evil", "C:\\evil", "sub/run.json", "run.json/"])
def test_a_name_that_leads_elsewhere_is_refused_and_nothing_is_written(files: dict[str, bytes], tmp_path: Path, name: str) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for own, content in files.items():
            made.writestr(own, content)
        made.writestr(name, b"evil")
    folder = tmp_path / "inner"
    folder.mkdir()
    with pytest.raises(BadFile, match="does not belong to a bundle"):
        opened(buffer.getvalue(), folder)
    assert [path.name for path in tmp_path.rglob("*")] == ["inner", "bundle.zip"]


def test_a_zip_bomb_is_refused_before_it_is_unpacked(files: dict[str, bytes], tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as made, made.open(CALLS, "w", force_zip64=True) as file:
        for _ in range(400):
            file.write(bytes(1 << 20))
    assert len(buffer.getvalue()) < 1 << 20
    with pytest.raises(BadFile, match=r"calls\.jsonl is compressed"):
        opened(buffer.getvalue(), tmp_path)


def test_a_file_that_says_it_is_stored_and_larger_than_it_is_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    content = bytearray(zipped(files))
    directory = content.index(b"PK\x01\x02")
    content[directory + 24 : directory + 28] = (1 << 30).to_bytes(4, "little")
    with pytest.raises(BadFile, match="is compressed"):
        opened(bytes(content), tmp_path)


def test_a_name_that_stands_twice_is_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(buffer, "w") as made:
        for name, content in [*files.items(), (RUN, b"{}")]:
            made.writestr(name, content)
    with pytest.raises(BadFile, match=r"run\.json is in the zip twice"):
        opened(buffer.getvalue(), tmp_path)


def test_a_link_in_a_zip_is_refused(files: dict[str, bytes], tmp_path: Path) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as made:
        for name, content in files.items():
            member = zipfile.ZipInfo(name)
            member.external_attr = (stat.S_IFLNK | 0o777) << 16 if name == RUN else 0
            made.writestr(member, content)
    with pytest.raises(BadFile, match=r"run\.json is a link"):
        opened(buffer.getvalue(), tmp_path)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda path, whole: path.symlink_to(whole), id="a link to the very file"),
        pytest.param(lambda path, whole: path.mkdir(), id="a folder"),
        pytest.param(lambda path, whole: os.mkfifo(path), id="a pipe, which would block whoever reads it"),
    ],
)
def test_what_is_no_plain_file_is_refused(files: dict[str, bytes], tmp_path: Path, make: Callable[[Path, Path], None]) -> None:
    folder = put(tmp_path / "bundle", files)
    (folder / RUN).rename(tmp_path / "whole.json")
    make(folder / RUN, tmp_path / "whole.json")
    with pytest.raises(BadFile, match=r"run\.json"):
        open_bundle(folder)


def test_a_file_beyond_any_bundle_is_not_read_to_its_end(files: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = put(tmp_path / "bundle", files)
    with (folder / CALLS).open("r+b") as file:
        file.truncate(archive.MAX_FILE_BYTES + 1)  # sparse: it takes no room
    with pytest.raises(BadFile, match=r"calls\.jsonl is larger than 256 MB"):
        open_bundle(folder)


def test_a_zip_that_another_program_packed_is_not_taken_but_its_folder_is(files: dict[str, bytes], tmp_path: Path) -> None:
    folder = put(tmp_path / "bundle", files)
    shutil.make_archive(str(tmp_path / "other"), "zip", folder)
    with pytest.raises(BadFile):
        open_bundle(tmp_path / "other.zip")
    with zipfile.ZipFile(tmp_path / "other.zip") as packed:
        packed.extractall(tmp_path / "unpacked")
    assert open_bundle(tmp_path / "unpacked").run.seed == 7


@pytest.mark.parametrize("content", [b"", b"PK", b"no zip at all", b"\x00" * 100])
def test_what_is_no_zip_is_said_to_be_none(tmp_path: Path, content: bytes) -> None:
    with pytest.raises(BadFile, match="or it is none"):
        opened(content, tmp_path)


def resealed(files: dict[str, bytes], **changed: bytes) -> dict[str, bytes]:
    """As somebody who knows the format would change it."""
    new = {name: changed.get(name.partition(".")[0], files[name]) for name in SEALED}
    return {**new, INTEGRITY: integrity_of(new)}


@pytest.mark.parametrize(
    ("name", "edit", "says"),
    [
        pytest.param(MANIFEST, lambda part: part | {"version": 9}, "not known here", id="a version of another day"),
        pytest.param(MANIFEST, lambda part: part | {"artifact_hash": f"sha256:{'0' * 64}"}, "does not fit", id="a manifest of another run"),
        pytest.param(MANIFEST, lambda part: [part], "cannot be read", id="a manifest of another shape"),
        pytest.param(MANIFEST, lambda part: part | {"calls": 2}, "does not hold the 2 calls", id="a manifest of more calls"),
        pytest.param(
            MANIFEST,
            lambda part: part | {"scenario": {"name": "x", "rows": [{"agent": "os:abort", "task": "wall@2", "seed": 7}]}},
            "does not fit",
            id="a manifest of another agent",
        ),
        pytest.param(RUN, lambda part: part | {"steps": 9}, "breaks the spec", id="a run that contradicts itself"),
        pytest.param(VALIDATOR, lambda part: part | {"steps": 9}, "does not fit", id="a validator of another run"),
    ],
)
def test_a_bundle_sealed_anew_must_still_make_sense(
    files: dict[str, bytes], tmp_path: Path, name: str, edit: Callable[[dict[str, object]], object], says: str
) -> None:
    part = msgspec.json.encode(edit(msgspec.json.decode(files[name])))
    with pytest.raises(BadFile, match=says):
        open_bundle(put(tmp_path / "bundle", resealed(files, **{name.partition(".")[0]: part})))


@pytest.mark.parametrize(
    ("edit", "says"),
    [
        pytest.param(lambda calls: b"{}\n", r"calls\.jsonl:1: The line is damaged", id="no recording"),
        pytest.param(lambda calls: calls.replace(b'"turn":0', b'"turn":1'), "the file was changed", id="a call with another turn"),
        pytest.param(lambda calls: b"", "It is empty", id="nothing"),
    ],
)
def test_calls_sealed_anew_must_still_be_a_recording(
    files: dict[str, bytes], tmp_path: Path, edit: Callable[[bytes], bytes], says: str
) -> None:
    with pytest.raises(BadFile, match=says):
        open_bundle(put(tmp_path / "bundle", resealed(files, calls=edit(files[CALLS]))))


@pytest.mark.parametrize("name", ["taken.zip", "taken"])
def test_a_bundle_never_takes_the_place_of_something(files: dict[str, bytes], tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    path.write_text("mine") if name.endswith(".zip") else path.mkdir()
    with pytest.raises(Conflict):
        archive.write_files(path, files)
    assert [entry.name for entry in tmp_path.iterdir()] == [name]


def test_only_its_owner_can_read_a_bundle(files: dict[str, bytes], tmp_path: Path) -> None:
    for name in ("a", "b"):
        (tmp_path / name).mkdir()
    archive.write_files(tmp_path / "a" / "bundle", files)
    archive.write_files(tmp_path / "b" / "bundle.zip", files)
    modes = {path.name: stat.S_IMODE(path.stat().st_mode) for path in (tmp_path / "a").rglob("*")}
    assert modes == {"bundle": 0o700, **dict.fromkeys(files, 0o600)}
    assert stat.S_IMODE((tmp_path / "b" / "bundle.zip").stat().st_mode) == 0o600
    assert [path.name for path in (tmp_path / "b").iterdir()] == ["bundle.zip"]


def test_the_list_of_names_is_complete() -> None:
    assert set(NAMES) == {*SEALED, INTEGRITY, SIGNATURE}

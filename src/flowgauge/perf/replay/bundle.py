"""A bundle: one episode, what it asked of the outside and what came of it, sealed.

In: a run, its calls and what was run; or a path. Out: the bundle's files; or a
bundle of which every byte is known to be as it was sealed. Refused, with the
file's name: anything that was changed, is missing or does not belong, a
signature that does not fit, and a signer whom the reader does not trust.
"""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import TypeVar

import msgspec

from flowgauge._version import __version__
from flowgauge.errors import BadFile, MissingExtra, UsageError
from flowgauge.model.problem import Problem
from flowgauge.perf.artifact import violations
from flowgauge.perf.model import RunArtifact, Scenario
from flowgauge.perf.replay import archive
from flowgauge.perf.replay.archive import CALLS, INTEGRITY, MANIFEST, RUN, SIGNATURE, VALIDATOR, Files, bad
from flowgauge.perf.replay.integrity import broken, integrity_of
from flowgauge.perf.replay.validator import Validator, validator_of
from flowgauge.providers.recordings.file import scan_bytes

FORMAT, VERSION = "flowgauge-bundle", 1
Part = TypeVar("Part")


class Manifest(msgspec.Struct, frozen=True, kw_only=True):
    """What was run, and how the bundle came to be."""

    format: str = FORMAT
    version: int = VERSION
    writer: str = f"flowgauge {__version__}"
    created_at: int
    """Milliseconds since 1970."""
    scenario: Scenario
    """With the one row that was run; its seed is the episode's."""
    folder: str
    """Of the scenario, from where record was called: its functions and workflow files are looked for there."""
    timeout_s: float
    """For a row without a wall clock of its own."""
    source: str
    """sha256 of what was run: of the workflow's content, or of the files that hold the row's functions."""
    calls: int
    """How many exchanges are recorded."""
    artifact_hash: str
    """Of the run."""


class Bundle(msgspec.Struct, frozen=True, kw_only=True):
    """A bundle whose integrity was verified."""

    path: Path
    manifest: Manifest
    run: RunArtifact
    validator: Validator
    calls: bytes
    signer: str = ""
    """The public key, in hex, that it is signed with; empty where it is not signed."""
    trusted: bool = False
    """The signer is one that the reader named."""


def seal(path: Path, manifest: Manifest, run: RunArtifact, calls: bytes, *, key_file: Path | None = None) -> None:
    """Write a new bundle: a zip where the path ends in .zip, else a folder."""
    files = {
        MANIFEST: _encoded(manifest),
        RUN: _encoded(run),
        VALIDATOR: _encoded(validator_of(run)),
        CALLS: calls,
    }
    files[INTEGRITY] = integrity_of(files)
    if key_file is not None:
        files[SIGNATURE] = _signatures().sign(files[INTEGRITY], key_file)
    archive.write_files(path, files)


def open_bundle(path: Path, *, trust: tuple[Path, ...] = ()) -> Bundle:
    """Read and verify; nothing of a bundle is used before all of it is verified."""
    files = archive.read_files(path)
    if problems := broken(files):
        raise BadFile(str(path), [Problem(0, "", problem, "Restore the bundle, or record again.") for problem in problems])
    signer = _signer(path, files, trust)
    manifest = _part(path, files, MANIFEST, Manifest)
    if (manifest.format, manifest.version) != (FORMAT, VERSION):
        raise bad(
            path, f"{MANIFEST} is of {manifest.format} {manifest.version}, which is not known here.", "Update flowgauge, or record again."
        )
    run = _part(path, files, RUN, RunArtifact)
    validator = _part(path, files, VALIDATOR, Validator)
    if found := violations(run):
        raise bad(path, f"{RUN} breaks the spec of run artifacts: {found[0]}.")
    if validator != validator_of(run):
        raise bad(path, f"{VALIDATOR} does not fit {RUN}.")
    if not _names(manifest, run):
        raise bad(path, f"{MANIFEST} does not fit {RUN}.")
    if len(scan_bytes(files[CALLS], f"{path}/{CALLS}").places) != manifest.calls:
        raise bad(path, f"{CALLS} does not hold the {manifest.calls} calls of {MANIFEST}.")
    return Bundle(path=path, manifest=manifest, run=run, validator=validator, calls=files[CALLS], signer=signer, trusted=bool(trust))


def check_key(key_file: Path) -> None:
    """Before anything is run: can it sign?"""
    _signatures().sign(b"", key_file)


def fingerprint(signer: str) -> str:
    """A public key as people compare it."""
    text: str = _signatures().fingerprint(signer)
    return text


def _signer(path: Path, files: Files, trust: tuple[Path, ...]) -> str:
    if SIGNATURE not in files:
        if trust:
            raise bad(path, "The bundle is not signed.", "Leave out --trust to replay it all the same, or ask for a signed one.")
        return ""
    signatures = _signatures()
    trusted = [signatures.read_public_key(key_file) for key_file in trust]
    try:
        signer: str = signatures.signer(files[SIGNATURE], files[INTEGRITY])
    except UsageError as error:
        raise bad(path, error.message) from error
    if trust and signer not in trusted:
        who = signatures.fingerprint(signer)
        raise bad(path, f"The bundle is signed by {who}, which is no key that you trust.", "Name its key with --trust if you do.")
    return signer


def _names(manifest: Manifest, run: RunArtifact) -> bool:
    """Is it this run that the manifest tells of?"""
    told = [(row.name, row.task, row.seed) for row in manifest.scenario.rows]
    return told == [(run.agent, run.task_ref, run.seed)] and manifest.artifact_hash == run.artifact_hash


def _part(path: Path, files: Files, name: str, kind: type[Part]) -> Part:
    try:
        return msgspec.json.decode(files[name], type=kind)
    except msgspec.DecodeError as error:
        raise bad(path, f"{name} cannot be read: {error}.") from error


def _encoded(value: msgspec.Struct) -> bytes:
    return msgspec.json.format(msgspec.json.encode(value), indent=2) + b"\n"


def _signatures() -> ModuleType:
    try:
        from flowgauge.perf.replay import signature
    except ImportError as error:
        raise MissingExtra("A signed bundle", "sign") from error
    return signature

"""Who sealed a bundle: a good signature, a bad one, one by a stranger, and one that the bundle brings along itself."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import ec, ed25519
from hypothesis import given
from hypothesis import strategies as st
from tests.cli.conftest import Program
from tests.perf.replay.conftest import put
from tests.perf.replay.episodes import STEADY, write_agent
from tests.perf.replay.test_bundle_integrity import flipped, flips, resealed

from flowgauge.errors import BadFile, MissingExtra
from flowgauge.perf.replay.archive import INTEGRITY, RUN, SIGNATURE
from flowgauge.perf.replay.bundle import open_bundle
from flowgauge.perf.replay.signature import fingerprint, sign

_PEM, _SSH = serialization.Encoding.PEM, serialization.Encoding.OpenSSH
_PKCS8, _OPENSSH = serialization.PrivateFormat.PKCS8, serialization.PrivateFormat.OpenSSH
_OPEN = serialization.NoEncryption()


class Keys:
    """A pair of keys in files, in both forms."""

    def __init__(self, folder: Path, name: str) -> None:
        key = ed25519.Ed25519PrivateKey.generate()
        self.private, self.private_ssh = folder / f"{name}.pem", folder / name
        self.public, self.public_ssh = folder / f"{name}-public.pem", folder / f"{name}.pub"
        self.private.write_bytes(key.private_bytes(_PEM, _PKCS8, _OPEN))
        self.private_ssh.write_bytes(key.private_bytes(_PEM, _OPENSSH, _OPEN))
        public = key.public_key()
        self.public.write_bytes(public.public_bytes(_PEM, serialization.PublicFormat.SubjectPublicKeyInfo))
        self.public_ssh.write_bytes(public.public_bytes(_SSH, serialization.PublicFormat.OpenSSH) + b" somebody@here\n")
        self.hex = public.public_bytes_raw().hex()


@pytest.fixture(scope="session")
def ours(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("ours"), "ours")


@pytest.fixture(scope="session")
def theirs(tmp_path_factory: pytest.TempPathFactory) -> Keys:
    return Keys(tmp_path_factory.mktemp("theirs"), "theirs")


@pytest.fixture(scope="session")
def signed(files: dict[str, bytes], ours: Keys) -> dict[str, bytes]:
    return {**files, SIGNATURE: sign(files[INTEGRITY], ours.private)}


def test_a_signature_by_a_key_that_the_reader_names_is_trusted(signed: dict[str, bytes], tmp_path: Path, ours: Keys, theirs: Keys) -> None:
    path = put(tmp_path / "bundle", signed)
    for trust in ((ours.public,), (ours.public_ssh,), (theirs.public, ours.public)):
        bundle = open_bundle(path, trust=trust)
        assert (bundle.signer, bundle.trusted) == (ours.hex, True)


def test_the_key_in_a_bundle_proves_nothing(signed: dict[str, bytes], tmp_path: Path) -> None:
    bundle = open_bundle(put(tmp_path / "bundle", signed))
    assert not bundle.trusted


def test_a_stranger_s_signature_is_refused_where_a_key_is_named(signed: dict[str, bytes], tmp_path: Path, theirs: Keys, ours: Keys) -> None:
    with pytest.raises(BadFile, match=r"signed by SHA256:.* no key that you trust") as refused:
        open_bundle(put(tmp_path / "bundle", signed), trust=(theirs.public,))
    assert fingerprint(ours.hex) in str(refused.value)


def test_a_bundle_without_a_signature_is_refused_where_a_key_is_named(files: dict[str, bytes], tmp_path: Path, ours: Keys) -> None:
    with pytest.raises(BadFile, match="not signed"):
        open_bundle(put(tmp_path / "bundle", files), trust=(ours.public,))


def test_a_run_that_was_changed_and_sealed_anew_does_not_fit_the_signature(signed: dict[str, bytes], tmp_path: Path) -> None:
    forged = {**resealed(signed, run=signed[RUN].replace(b"north", b"south")), SIGNATURE: signed[SIGNATURE]}
    with pytest.raises(BadFile, match=r"signature\.json does not fit"):
        open_bundle(put(tmp_path / "bundle", forged))


def test_a_forger_who_signs_anew_is_a_stranger(signed: dict[str, bytes], tmp_path: Path, ours: Keys, theirs: Keys) -> None:
    forged = {**signed, SIGNATURE: sign(signed[INTEGRITY], theirs.private)}
    assert open_bundle(put(tmp_path / "bundle", forged)).signer == theirs.hex
    with pytest.raises(BadFile, match="no key that you trust"):
        open_bundle(tmp_path / "bundle", trust=(ours.public,))


@given(data=st.data())
def test_any_byte_of_the_signature_changed_is_found(
    signed: dict[str, bytes], tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    place, by = data.draw(flips(len(signed[SIGNATURE])))
    changed = {**signed, SIGNATURE: flipped(signed[SIGNATURE], place, by)}
    with pytest.raises(BadFile, match=r"signature\.json"):
        open_bundle(put(tmp_path_factory.getbasetemp() / "signed", changed))


def test_a_signature_spelled_otherwise_is_refused(signed: dict[str, bytes], tmp_path: Path) -> None:
    spaced = signed[SIGNATURE].replace(b'"signature":', b'"signature": ')
    with pytest.raises(BadFile, match=r"signature\.json was changed"):
        open_bundle(put(tmp_path / "bundle", {**signed, SIGNATURE: spaced}))


def _useless() -> Iterator[object]:
    key = ec.generate_private_key(ec.SECP256R1())
    yield pytest.param(key.private_bytes(_PEM, _PKCS8, _OPEN), id="a key of another kind")
    locked = ed25519.Ed25519PrivateKey.generate().private_bytes(_PEM, _PKCS8, serialization.BestAvailableEncryption(b"secret"))
    yield pytest.param(locked, id="a key with a passphrase")
    yield pytest.param(b"no key", id="no key at all")
    yield pytest.param(b"", id="an empty file")


@pytest.mark.parametrize("content", list(_useless()))
def test_a_key_that_cannot_sign_is_refused_before_anything_runs(flowgauge: Program, tmp_path: Path, content: bytes) -> None:
    write_agent(tmp_path, "def agent(run):\n    raise AssertionError('it ran')\n")
    (tmp_path / "key").write_bytes(content)
    done = flowgauge("record", "scenario.yaml", "-o", "b.zip", "--sign", "key")
    assert (done.code, (tmp_path / "b.zip").exists()) == (2, False)
    assert "Give an Ed25519 key in PEM or OpenSSH form, without a passphrase." in done.err
    assert "1st run" not in done.out


def test_signed_by_the_program_and_trusted_by_the_program(flowgauge: Program, tmp_path: Path, ours: Keys, theirs: Keys) -> None:
    write_agent(tmp_path, STEADY)
    assert flowgauge("record", "scenario.yaml", "-o", "b.zip", "--sign", ours.private_ssh).code == 0
    trusted = flowgauge("replay", "b.zip", "--trust", ours.public_ssh)
    assert (trusted.code, "trusted" in trusted.out) == (0, True)
    assert "proves nothing without --trust" in flowgauge("replay", "b.zip").out
    stranger = flowgauge("replay", "b.zip", "--trust", theirs.public, "--json")
    assert (stranger.code, stranger.out) == (2, "")


def test_the_fingerprint_is_the_one_that_ssh_keygen_shows() -> None:
    public_key = "03a107bff3ce10be1d70dd18e74bc09967e4d6309ba50d5f1ddc8664125531b8"
    assert fingerprint(public_key) == "SHA256:lbmsoA0yIEcEiVDRnMWuzm+nV+3ZEEpVIURqFoeSspg"


def test_without_the_extra_a_signed_bundle_is_not_taken_on_trust(
    signed: dict[str, bytes], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    monkeypatch.delitem(sys.modules, "flowgauge.perf.replay.signature")
    monkeypatch.delattr("flowgauge.perf.replay.signature")
    with pytest.raises(MissingExtra, match=r"flowgauge\[sign\]"):
        open_bundle(put(tmp_path / "bundle", signed))

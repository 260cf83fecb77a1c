"""signature.json: who sealed a bundle, by an Ed25519 key over integrity.sha256.

In: the integrity file and a key file. Out: the signature file, or whose it is.
The key in a bundle proves nothing by itself, for whoever made the bundle chose
it: only a key that the reader names (`--trust`) makes a bundle somebody's.
The module imports `cryptography` (extra `sign`): import it where a signature is met.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Any

import msgspec
from cryptography.exceptions import InvalidSignature, UnsupportedAlgorithm
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey

from flowgauge.errors import BadFile, UsageError
from flowgauge.model.problem import Problem
from flowgauge.perf.replay.archive import SIGNATURE

_CONTEXT = b"flowgauge bundle 1\n"
"""Goes before what is signed: a signature made for something else is none here."""
_KINDS = "an Ed25519 key in PEM or OpenSSH form, without a passphrase"
_UNFIT = "It holds no key that can be used here."
_PRIVATE = tuple(partial(load, password=None) for load in (serialization.load_pem_private_key, serialization.load_ssh_private_key))
_PUBLIC = (serialization.load_pem_public_key, serialization.load_ssh_public_key)


class SignatureFile(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """All of signature.json."""

    algorithm: str = "ed25519"
    public_key: str
    """32 bytes in hex."""
    signature: str
    """64 bytes in hex, over the integrity file."""


def sign(integrity: bytes, key_file: Path) -> bytes:
    """The signature file."""
    key = _loaded(key_file, _PRIVATE)
    if not isinstance(key, Ed25519PrivateKey):
        raise _bad(key_file, _UNFIT)
    public = key.public_key().public_bytes_raw().hex()
    return msgspec.json.encode(SignatureFile(public_key=public, signature=key.sign(_CONTEXT + integrity).hex()))


def signer(content: bytes, integrity: bytes) -> str:
    """The public key, in hex, that the integrity file was signed with. Raises UsageError."""
    try:
        stated = msgspec.json.decode(content, type=SignatureFile)
        public_key, signature = bytes.fromhex(stated.public_key), bytes.fromhex(stated.signature)
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, _CONTEXT + integrity)
    except (msgspec.DecodeError, ValueError, InvalidSignature) as error:
        raise UsageError(f"{SIGNATURE} does not fit the bundle: it, or what it signs, was changed.") from error
    if msgspec.json.encode(SignatureFile(public_key=public_key.hex(), signature=signature.hex())) != content:
        raise UsageError(f"{SIGNATURE} was changed: it is not as record writes it.")
    return stated.public_key


def read_public_key(key_file: Path) -> str:
    """A key that the reader trusts, as hex."""
    key = _loaded(key_file, _PUBLIC)
    if not isinstance(key, Ed25519PublicKey):
        raise _bad(key_file, _UNFIT)
    return key.public_bytes_raw().hex()


def fingerprint(public_key: str) -> str:
    """As ssh-keygen -l shows it."""
    raw = bytes.fromhex(public_key)
    kind = b"ssh-ed25519"
    blob = len(kind).to_bytes(4) + kind + len(raw).to_bytes(4) + raw
    return f"SHA256:{base64.b64encode(hashlib.sha256(blob).digest()).decode().rstrip('=')}"


def _loaded(key_file: Path, loaders: Iterable[Callable[[bytes], Any]]) -> Any:
    try:
        content = key_file.read_bytes()
    except OSError as error:
        raise _bad(key_file, f"The key cannot be read: {error.strerror}.") from error
    for load in loaders:
        try:
            return load(content)
        except (ValueError, TypeError, UnsupportedAlgorithm):
            continue  # of another form, or locked
    return None


def _bad(key_file: Path, message: str) -> BadFile:
    return BadFile(str(key_file), [Problem(0, "", message, f"Give {_KINDS}.")])

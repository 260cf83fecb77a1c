"""What benches and trials are called: the same on every machine, whatever the process or the Python version.

In: a bench, or where a trial stands. Out: hashes and ids. A definition is the
target's content, the configurations, the cases with their gold and checks, the
seed, the limit, and the timeout and cache mode where set. Not in it: how often
and how many at once, money, tags, and what files are called.
"""

from __future__ import annotations

import hashlib

import msgspec

from flowgauge.model.bench import Bench, Case, CheckSpec

RUN_ID_DIGITS = 16

_FORM = b"flowgauge bench 1"
_encoder = msgspec.json.Encoder(order="sorted")


def definition_hash(bench: Bench) -> str:
    """SHA-256 in hex of what makes two benches the same. Cases are fed one by one, so that many need no second copy."""
    digest = hashlib.sha256(_FORM)
    for part in _head(bench):
        _feed(digest, part)
    for case in bench.cases:
        _feed(digest, _measured(case) if case.runs or case.tags or case.checks else case)
    return digest.hexdigest()


def run_id(config: str, case: str, repetition: int, bench_id: str) -> str:
    """Sixteen hex digits. The parts are quoted before they are joined: no name can run into its neighbour."""
    place = _encoder.encode((config, case, repetition, bench_id))
    return hashlib.sha256(place).hexdigest()[:RUN_ID_DIGITS]


def _head(bench: Bench) -> tuple[object, ...]:
    """What stands before the cases. A setting that is off leaves no trace, so that a new one changes no old hash."""
    timeout_s = None if bench.timeout_s is None else float(bench.timeout_s)
    settings = {"cache": bench.cache or None, "limit": bench.limit, "seed": bench.seed, "timeout_s": timeout_s}
    said = {name: value for name, value in settings.items() if value is not None}
    return ((bench.target.kind, bench.target.content or bench.target.reference), bench.configs, _settled(bench.checks), said)


def _measured(case: Case) -> Case:
    return msgspec.structs.replace(case, runs=None, tags={}, checks=_settled(case.checks))


def _settled(checks: tuple[CheckSpec, ...]) -> tuple[CheckSpec, ...]:
    """As they come back from a store: a weight of 2 that a program gave is 2.0 there."""
    return msgspec.convert(msgspec.to_builtins(checks), tuple[CheckSpec, ...])


def _feed(digest: hashlib._Hash, part: object) -> None:
    """With its length before it: where one part ends and the next begins is part of the hash."""
    encoded = _encoder.encode(part)
    digest.update(len(encoded).to_bytes(8, "big"))
    digest.update(encoded)

"""One pytest run (of one process): where it stores, and the bench that each test function has.

Cases of a parametrised test come one after the other, as items of their own;
each adds itself to the bench that the first of them began.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

if TYPE_CHECKING:
    import pytest


class Begun(msgspec.Struct):
    """A bench of this run that further cases can join."""

    bench_id: str
    cases: set[str]


class Session:
    """What is the same for all tests of a run."""

    def __init__(self, db: str, runs: int | None, uid: str) -> None:
        self.db = db
        self.runs = runs
        """Of the command line; None: what each test says."""
        self.uid = uid
        """The same in all processes of a run, under pytest-xdist."""
        self.benches: dict[str, Begun] = {}
        """By test function."""

    @classmethod
    def of(cls, config: pytest.Config) -> Session:
        """Paths mean the folder where pytest was called, whatever folder a test goes to."""
        db = str(config.getoption("flowgauge_db") or os.environ.get("FLOWGAUGE_DB") or ".flowgauge/flowgauge.db")
        if "://" not in db:
            db = str(config.invocation_params.dir / Path(db).expanduser())
        uid = getattr(config, "workerinput", {}).get("testrunuid", "")
        return cls(db, config.getoption("flowgauge_runs"), uid)

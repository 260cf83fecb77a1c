"""regression: the share of tests that pass, as pytest counts them.

pytest runs in a process of its own, in the folder that is named, and writes
JUnit XML; tests that were skipped count on neither side. Errors of collection
are tests that did not pass. No test at all is an error: nothing was measured.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated
from xml.etree import ElementTree as Xml

from msgspec import Meta

from flowgauge.model.figure import Metric
from flowgauge.model.workflow import Value
from flowgauge.nodes.program import Limits
from flowgauge.registry.adapter import Skip
from flowgauge.registry.adapters.built_in import BuiltIn, Context
from flowgauge.registry.programs import run_guarded

_MOST_BYTES = 50_000_000
_TAIL = 300


class Settings(Value, frozen=True):
    """Which tests, with which Python."""

    tests: Annotated[tuple[str, ...], Meta(description="Files, folders or node ids for pytest.")] = ()
    folder: Annotated[str, Meta(description="Where pytest is started.")] = "."
    exclude_markers: Annotated[tuple[str, ...], Meta(description="Tests with one of these markers are left out.")] = ()
    exclude_tests: Annotated[tuple[str, ...], Meta(description="Node ids, or beginnings of them, that are left out.")] = ()
    python: Annotated[str, Meta(description="The Python that has pytest and what the tests need; Flowgauge's own by default.")] = ""


def run(settings: Settings, context: Context) -> Mapping[str, Metric]:
    """`test_pass_rate`, and `test_count` of those that were counted."""
    if not Path(settings.folder).is_dir():
        raise Skip(f"there is no folder {settings.folder}")
    with tempfile.TemporaryDirectory(prefix="flowgauge-regression-") as folder:
        report = Path(folder, "junit.xml")
        limits = Limits(max_bytes=_MOST_BYTES, timeout_s=context.time_limit_s)
        environment = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}
        ended = run_guarded(_argv(settings, report), environment, limits, cwd=settings.folder)
        if not report.exists():
            said = (ended.stderr or ended.stdout).decode(errors="replace").strip()[-_TAIL:]
            raise ValueError(f"pytest wrote no report (exit code {ended.exit_code}): {said}")
        passed, counted = _count(report)
    if not counted:
        raise ValueError("pytest found no test to run; name them in adapters.regression.tests")
    return {
        "test_pass_rate": Metric(value=passed / counted, direction="higher", unit="ratio"),
        "test_count": Metric(value=float(counted), direction="higher", unit="tests"),
    }


def _argv(settings: Settings, report: Path) -> list[str]:
    argv = [settings.python or sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", f"--junitxml={report}"]
    if settings.exclude_markers:
        argv += ["-m", " and ".join(f"not {marker}" for marker in settings.exclude_markers)]
    return [*argv, *(f"--deselect={test}" for test in settings.exclude_tests), "--", *settings.tests]


def _count(report: Path) -> tuple[int, int]:
    """Passed, and all that were not skipped."""
    cases = Xml.parse(report).getroot().iter("testcase")  # noqa: S314 - pytest wrote it a moment ago
    ends = [{child.tag for child in case} for case in cases]
    counted = [end for end in ends if "skipped" not in end or end & {"failure", "error"}]
    return sum(not end & {"failure", "error"} for end in counted), len(counted)


def _missing(settings: Settings) -> str:
    return "" if settings.tests else "no tests are named: set adapters.regression.tests in registry.yaml"


ROW = BuiltIn(name="regression", tier="fast", settings=Settings, run=run, missing=_missing)

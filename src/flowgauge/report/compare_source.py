"""What every report of a comparison is made of: the verdicts, the gate's answer where there is one, and what charts draw."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from flowgauge.model.verdict import Comparison, GateResult

Distributions = Mapping[str, tuple[Sequence[float], Sequence[float]]]
"""By metric: samples of the candidate and of the baseline, as many as are worth drawing."""

SHORT_COMMIT_CHARS = 7


class CompareSource(msgspec.Struct, frozen=True, kw_only=True):
    """A comparison to be reported."""

    comparison: Comparison
    gate: GateResult | None = None
    """None where nobody asked for a decision."""
    distributions: Distributions = {}
    commit: str = ""
    """Of the candidate; what the benchmark says where it is empty."""
    command: str = ""
    """The command line that made the comparison, where it is known."""

    @property
    def short_commit(self) -> str:
        """Seven characters of it, or nothing."""
        return (self.commit or self.comparison.candidate_commit)[:SHORT_COMMIT_CHARS]


def compare_source(
    result: Comparison | GateResult, *, distributions: Distributions | None = None, commit: str = "", command: str = ""
) -> CompareSource:
    """From a comparison, or from what a gate made of one."""
    gate = result if isinstance(result, GateResult) else None
    comparison = result.comparison if isinstance(result, GateResult) else result
    return CompareSource(comparison=comparison, gate=gate, distributions=distributions or {}, commit=commit, command=command)

"""Which samples of two sides are held against each other, and what the unit is: a case or a trial.

Samples by case in, lists of samples out. Where both sides ran the same cases,
each case is held against itself. What only one side has is left out and counted.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

from flowgauge.compare.words import several
from flowgauge.stats.ratio_cases import Groups

Design = Literal["paired", "trials", "unpaired", "none"]
ByCase = Mapping[str, Sequence[float]]


class Matched(NamedTuple):
    """`paired`: the same cases in the same order; `trials`: one list a side; `unpaired`: each side's own cases."""

    design: Design
    candidate: Groups
    baseline: Groups
    words: str

    @property
    def sizes(self) -> tuple[int, int]:
        """Samples a side."""
        return sum(map(len, self.candidate)), sum(map(len, self.baseline))

    @property
    def units(self) -> tuple[int, int]:
        """What is counted a side: cases, or trials where there is one case."""
        return self.sizes if self.design == "trials" else (len(self.candidate), len(self.baseline))


def match(candidate: ByCase, baseline: ByCase) -> Matched:
    """The design that the cases allow."""
    ours, theirs = ({case: values for case, values in side.items() if len(values)} for side in (candidate, baseline))
    common = [case for case in theirs if case in ours]
    left_out = len(ours) + len(theirs) - 2 * len(common)
    rest = f", {several(left_out, 'case')} of one side only left out" if left_out and common else ""
    if len(common) == 1:
        return Matched("trials", [ours[common[0]]], [theirs[common[0]]], f"runs of one case{rest}")
    if common:
        return Matched(
            "paired", [ours[case] for case in common], [theirs[case] for case in common], f"paired by {len(common):,} cases{rest}"
        )
    if not ours or not theirs:
        return Matched("none", list(ours.values()), list(theirs.values()), "a side has no sample")
    if len(ours) == len(theirs) == 1:
        return Matched("trials", list(ours.values()), list(theirs.values()), "runs of one case, which the sides call by different names")
    design: Design = "unpaired" if min(len(ours), len(theirs)) > 1 else "none"
    return Matched(design, list(ours.values()), list(theirs.values()), "no case in common: each side's own cases")

"""What several votes come to. Pure: votes in, a finding out.

A majority is more than half of the votes that were asked for: a tie does not
pass, and votes that could not be had are nobody's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import msgspec

from flowgauge.model.play import Usage
from flowgauge.nodes.context import fail
from flowgauge.score.check import Finding
from flowgauge.score.words import cut

Combine = Literal["majority", "mean"]


class Vote(msgspec.Struct, frozen=True):
    """One judgement, as the model wrote it."""

    reason: str
    score: float
    passed: bool


def tally(votes: Sequence[Vote], asked: int, combine: Combine, middle: float, usage: Usage | None, lost: str = "") -> Finding:
    """The finding; Failed where the votes that came decide nothing. `lost` says why one is missing."""
    if 2 * len(votes) <= asked:
        raise fail("invalid_output", f"{asked - len(votes)} of {asked} votes could not be had. {lost}".rstrip())
    mean = sum(vote.score for vote in votes) / len(votes)
    passed = mean >= middle if combine == "mean" else _majority(votes, asked, lost)
    return Finding(passed, mean, _reason(votes, passed, asked, lost), tuple(vote.score for vote in votes), usage)


def _majority(votes: Sequence[Vote], asked: int, lost: str) -> bool:
    ayes = sum(vote.passed for vote in votes)
    if 2 * ayes > asked:
        return True
    if 2 * (len(votes) - ayes) >= asked:
        return False
    raise fail("invalid_output", f"{asked - len(votes)} of {asked} votes could not be had, and the others decide nothing. {lost}".rstrip())


def _reason(votes: Sequence[Vote], passed: bool, asked: int, lost: str) -> str:
    """The words of the first vote that says what the result says."""
    speaker = next((vote for vote in votes if vote.passed is passed), votes[0])
    if asked == 1:
        return cut(speaker.reason)
    ayes = sum(vote.passed for vote in votes)
    missing = f", {asked - len(votes)} could not be had ({cut(lost, 200)})" if len(votes) < asked else ""
    return cut(f"{ayes} of {len(votes)} votes passed it{missing}. {speaker.reason}")

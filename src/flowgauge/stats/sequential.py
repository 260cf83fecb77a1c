"""Looking at a test again and again while its data grow, without raising false alarms.

A schedule of looks, and the share of alpha that each of them may spend. Let the
looks be fixed beforehand and let look i call harm at p ≤ alpha_i, where the
alpha_i add up to alpha. If nothing changed, look i raises a false alarm with a
chance of at most alpha_i, whatever the others do; by Boole's inequality the
chance that any of them ever does is at most the sum, alpha. No assumption about
how looks depend on each other is needed, so it holds for any test, for several
metrics corrected together, and against a baseline that stays as it is. The
decision that harm is excluded spends as much again, of an error of its own.

A look that is not on the schedule is not covered: what ends a run early (money,
an interruption) leaves the verdict of the last look as it stands.

Looks are few because each one costs power: their number grows with the
logarithm of the runs. Later looks, where small effects show, get more (alpha_i
grows with i): in simulation that stops earlier than equal parts, and much
earlier than confidence sequences that allow a look after every run (Waudby-Smith
et al. 2024, Ann. Statist. 52(6)). docs/verdicts.md has the figures.
"""

from __future__ import annotations

import math

FACTOR = 1.5
"""From one look to the next; 1.3 and 2 stop later (measured)."""


def looks(first: int, at_most: int, *, factor: float = FACTOR) -> tuple[int, ...]:
    """After how many runs to look; the last is `at_most`, and not soon after the one before."""
    if first < 1 or at_most < 1 or factor <= 1:
        raise ValueError(f"Looks from {first} to {at_most} that grow by {factor} make no schedule.")
    found, runs = [], min(first, at_most)
    while runs * math.sqrt(factor) < at_most:
        found.append(runs)
        runs = max(runs + 1, math.ceil(runs * factor))
    return (*found, at_most)


def alpha_at(look: int, of: int, alpha: float = 0.05) -> float:
    """What look number `look` (from 1) of `of` may spend: in proportion to its number."""
    if not 1 <= look <= of:
        raise ValueError(f"There is no look {look} of {of}.")
    return alpha * 2 * look / (of * (of + 1))

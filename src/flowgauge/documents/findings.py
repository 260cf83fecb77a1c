"""The problems and warnings found in one file, each with its line.

In: ways into the file's value and words. Out: sorted problems. Knows where
things are written, not what they mean.
"""

from __future__ import annotations

from collections.abc import Callable

from flowgauge.documents.document import Way, spell_way
from flowgauge.documents.tree import Place
from flowgauge.errors import BadFile
from flowgauge.model.problem import Problem

MOST_PROBLEMS = 200
Locate = Callable[[Way], Place]


class Findings:
    """Collects; raises once, at the end, or when there is more than anybody would read."""

    def __init__(self, file: str, locate: Locate, spell: Callable[[Way], str] = spell_way) -> None:
        self.file = file
        self.locate = locate
        self.spell = spell
        self.problems: list[Problem] = []
        self._at_fault: set[Way] = set()
        self.warnings: list[Problem] = []

    def add(self, way: Way, message: str, remedy: str = "", *, text: str = "", offset: int = 0) -> None:
        """A problem. In a block of literal text (`|`), `offset` into `text` moves it to the line meant."""
        self._at_fault.update(way[:length] for length in range(len(way) + 1))
        self.problems.append(Problem(self.line(way, text, offset), self.spell(way), message, remedy))
        if len(self.problems) >= MOST_PROBLEMS:
            rest = Problem(0, "", f"The list ends here, after {MOST_PROBLEMS} problems; there may be more.", "Mend these first.")
            raise BadFile(self.file, [*self.sorted_problems(), rest])

    def has_fault(self, way: Way) -> bool:
        """Was a problem found there or further in?"""
        return way in self._at_fault

    def warn(self, way: Way, message: str, remedy: str = "") -> None:
        """Something odd that is no mistake."""
        self.warnings.append(Problem(self.line(way), self.spell(way), message, remedy))

    def line(self, way: Way, text: str = "", offset: int = 0) -> int:
        """Where a value is written, or a character of its text."""
        place = self.locate(way)
        if place.content_line and text:
            return place.content_line + text.count("\n", 0, offset)
        return place.line

    def sorted_problems(self) -> list[Problem]:
        """In the order of the file, each once."""
        return sorted(dict.fromkeys(self.problems), key=lambda problem: problem.line)

    def raise_any(self) -> None:
        """BadFile, where there is a problem."""
        if self.problems:
            raise BadFile(self.file, self.sorted_problems())

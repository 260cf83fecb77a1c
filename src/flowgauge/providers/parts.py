"""Files made of named parts (mock profiles, prices): every part is read, then all mistakes are told at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from flowgauge.documents.document import Document, Way
from flowgauge.errors import BadFile
from flowgauge.model.problem import Problem
from flowgauge.model.workflow import Json


class Mistakes(Exception):
    """Some mistakes in one part of a file, on their way to the list of all."""

    def __init__(self, problems: list[Problem]) -> None:
        super().__init__(f"{len(problems)} mistakes")
        self.problems = problems


def each(document: Document, way: Way, parts: Mapping[str, Json], read: Callable[[Way, Json], None]) -> None:
    """Read every part, then report the mistakes of all of them at once."""
    problems: list[Problem] = []
    for key, part in parts.items():
        try:
            read((*way, key), part)
        except Mistakes as mistakes:
            problems += mistakes.problems
    if problems:
        raise BadFile(document.file, problems)

"""One mistake in a file that a person wrote: where it is and what to do."""

from __future__ import annotations

import msgspec


class Problem(msgspec.Struct, frozen=True):
    """`line` counts from 1; 0 where the whole file is meant. `where` is a path such as nodes[2].when."""

    line: int
    where: str
    message: str
    remedy: str = ""

    def __str__(self) -> str:
        place = f"{self.line}: " if self.line else " "
        where = f"{self.where}: " if self.where else ""
        return f"{place}{where}{self.message} {self.remedy}".rstrip()

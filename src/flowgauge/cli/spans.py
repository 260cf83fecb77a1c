"""Lengths of time as people type them: 90s, 15m, 1h, 30d, 2w."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    SpanType = click.ParamType[int]
else:
    SpanType = click.ParamType  # generic only in later versions of click

_SPAN = re.compile(r"(?P<count>\d{1,9})(?P<unit>[smhdw])")
_SECONDS = {"s": 1, "m": 60, "h": 3600, "d": 86_400, "w": 7 * 86_400}


class Span(SpanType):
    """To whole seconds, at least one."""

    name = "span"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Fails with what would be right."""
        if isinstance(value, int):
            return value
        found = _SPAN.fullmatch(str(value).strip())
        seconds = int(found["count"]) * _SECONDS[found["unit"]] if found else 0
        if not seconds:
            self.fail(f"'{value}' is no length of time. Write 90s, 15m, 1h, 30d or 2w.", param, ctx)
        return seconds

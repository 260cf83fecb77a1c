"""What a format of results is: how it is known, how it is read. One file a format, one row in `table`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any, TypeVar

import msgspec

from flowgauge.define.fields import field_names
from flowgauge.define.ingest.ingested import Ingested
from flowgauge.define.shape import check_shape
from flowgauge.documents.document import Way
from flowgauge.documents.findings import Findings

Found = tuple[Way, Ingested]
"""A subject, and where the file names it."""
LONGEST_LINE = 500
S = TypeVar("S", bound=msgspec.Struct)


class Format(msgspec.Struct, frozen=True):
    """One row of the table."""

    name: str
    made_by: str
    """How one gets such a file, in words."""
    looks_like: Callable[[Any], bool]
    """Is a file's value one of these? Decides by its outer shape; mistakes further in are for `read` to find."""
    read: Callable[[Any, Findings], Iterator[Found]]


def fitted(struct: type[S], value: Any, way: Way, findings: Findings) -> S | None:
    """The part of a program's record that the struct names; None where that does not fit, which is then a finding.

    What else the record holds is the program's own business.
    """
    if not isinstance(value, Mapping):
        findings.add(way, "Expected an object.", "Take the file as the program wrote it.")
        return None
    known = {name: value[name] for name in field_names(struct) if name in value}
    return msgspec.convert(known, struct) if check_shape(struct, known, way, findings) else None


def line_is_fit(text: str, way: Way, findings: Findings, remedy: str) -> bool:
    """Can it be stored, shown and typed?"""
    if not text.strip():
        findings.add(way, "It is empty.", remedy)
    elif len(text) > LONGEST_LINE:
        findings.add(way, f"It is longer than {LONGEST_LINE} characters.", remedy)
    elif not text.isprintable():
        findings.add(way, "It has characters that cannot be shown.", remedy)
    else:
        return True
    return False

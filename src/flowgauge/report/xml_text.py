"""Text inside XML: escaped, without the characters that XML cannot hold."""

from __future__ import annotations

import re
from xml.sax.saxutils import escape, quoteattr

from flowgauge.report import words

OUTPUT_CHARS = 4_000
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def quoted(value: str) -> str:
    """An attribute's value with its quotes."""
    return quoteattr(_clean(value))


def text(value: str) -> str:
    """The text of an element, cut where it is long."""
    return escape(words.cut(_clean(value), OUTPUT_CHARS))


def _clean(value: str) -> str:
    return _NOT_XML.sub("", value)

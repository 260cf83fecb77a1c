"""Text that every database can hold.

PostgreSQL refuses NUL, and no database takes half of a surrogate pair. NUL is
escaped and comes back as it was; half a pair becomes U+FFFD. JSON needs no
escape: its encoder writes NUL as six plain characters.
"""

from __future__ import annotations

_ESCAPE = "\x1a"
_NUL = "\x00"


def escape(text: str) -> str:
    """Without NUL."""
    if _NUL in text or _ESCAPE in text:
        text = text.replace(_ESCAPE, _ESCAPE + "1").replace(_NUL, _ESCAPE + "0")
    return text if text.isascii() else whole(text)


def is_escaped(text: str) -> bool:
    """Whether `unescape` would change it."""
    return _ESCAPE in text


def unescape(text: str) -> str:
    """What `escape` was given."""
    if _ESCAPE not in text:
        return text
    return text.replace(_ESCAPE + "0", _NUL).replace(_ESCAPE + "1", _ESCAPE)


def whole(text: str) -> str:
    """Without halves of surrogate pairs."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return text

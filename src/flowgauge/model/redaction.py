"""Takes secrets out of text before it is stored, logged, traced or shown.

Secrets are the values of environment variables whose names say so, and what
looks like a key wherever it stands. Pure: the environment is passed in.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping

MARK = "[redacted]"
SHORTEST = 8
_NAMES = re.compile(r"(^|_)(API_?KEY|ACCESS_?KEY|KEY|TOKEN|SECRET|PASSWORD|PASSWD|CREDENTIALS?)($|_)", re.IGNORECASE)
_SHAPES = "|".join(
    (
        r"sk-[A-Za-z0-9_-]{16,}",
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        r"AKIA[0-9A-Z]{16}",
        r"xox[baprs]-[A-Za-z0-9-]{10,}",
        r"AIza[A-Za-z0-9_-]{30,}",
        r"(?<=Bearer )[A-Za-z0-9._~+/-]{16,}=*",
    )
)
_SIGNS = ("sk-", "ghp_", "gho_", "ghu_", "ghs_", "ghr_", "AKIA", "xox", "AIza", "Bearer ")
"""One of these stands in everything that a shape fits."""

Redact = Callable[[str], str]


def secrets_of(environment: Mapping[str, str], extra_names: Iterable[str] = ()) -> frozenset[str]:
    """The values worth hiding: long enough not to blot out ordinary words."""
    named = set(extra_names)
    return frozenset(
        value
        for name, value in environment.items()
        if (name in named or _NAMES.search(name)) and len(value) >= SHORTEST and not value.startswith(("/", "http"))
    )


def redactor(secrets: Iterable[str]) -> Redact:
    """A function that replaces every secret, also where JSON has escaped it."""
    spellings: set[str] = set()
    for secret in secrets:
        spellings |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
    longest_first = sorted(spellings, key=len, reverse=True)
    pattern = re.compile("|".join([*map(re.escape, longest_first), _SHAPES]))
    signs = (*longest_first, *_SIGNS)

    def redact(text: str) -> str:
        # Looking for plain pieces first: most texts hold none, and the pattern alone costs 30 ns a character.
        for sign in signs:
            if sign in text:
                return pattern.sub(MARK, text)
        return text

    return redact

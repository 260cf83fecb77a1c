"""Takes secrets out of text before it is stored, logged, traced or shown.

Secrets are the values of environment variables whose names say so, passwords
inside URLs, and what looks like a key wherever it stands. The environment is
passed in; a Redactor can learn more on the way, such as a key that a workflow
names by a variable of its own.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

MARK = "[redacted]"
SHORTEST = 8
_NAMES = re.compile(r"(^|_)(API_?KEY|ACCESS_?KEY|KEY|TOKEN|SECRET|PASS|PASSPHRASE|CREDENTIAL|AUTH)S?($|_)|PASSW(OR)?D", re.IGNORECASE)
_PATH = re.compile(r"(/[\w.@~-]+){2,}/?|https?://[^@\s]*")
"""Values that only say where something is."""
_IN_URL = re.compile(r"://[^/\s:@]*:([^@\s/]+)@")
_SHAPES = "|".join(
    (
        r"sk-[A-Za-z0-9_-]{16,}",
        r"gh[pousr]_[A-Za-z0-9]{20,}",
        r"AKIA[0-9A-Z]{16}",
        r"xox[baprs]-[A-Za-z0-9-]{10,}",
        r"AIza[A-Za-z0-9_-]{30,}",
        r"fg_[A-Za-z0-9_-]{43}(?![A-Za-z0-9_-])",
        r"(?<=Bearer )[A-Za-z0-9._~+/-]{16,}=*",
        r"(?<=://)[^\s/:@\"'\\]+:[^\s/@\"'\\]+(?=@)",
    )
)
_SIGNS = {
    "-": ("sk-", "xox"),
    "gh": ("ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    "K": ("AKIA",),
    "z": ("AIza",),
    "fg_": ("fg_",),
    "B": ("Bearer ",),
    "@": ("://",),
}
"""In everything that a shape fits stand one of these keys and one of its signs. The keys are rare, and quickly looked for."""
_COMMON = " etaoinsrhldcumfpgwybv0123456789_TSAICE"
"""Characters by how often they are met; all others are rarer."""

Redact = Callable[[str], str]


def secrets_of(environment: Mapping[str, str], extra_names: Iterable[str] = ()) -> frozenset[str]:
    """The values worth hiding: long enough not to blot out ordinary words."""
    named = set(extra_names)
    found = {value for name, value in environment.items() if name in named or (_NAMES.search(name) and not _PATH.fullmatch(value))}
    found |= {password for value in environment.values() for password in _IN_URL.findall(value)}
    return frozenset(value for value in found if len(value) >= SHORTEST)


class Redactor:
    """Replaces every secret, also where JSON has escaped it."""

    def __init__(self, secrets: Iterable[str] = ()) -> None:
        self._secrets: set[str] = set()
        self._make()
        self.learn(secrets)

    def learn(self, secrets: Iterable[str]) -> None:
        """Hide these, too, from now on."""
        new = {secret for secret in secrets if len(secret) >= SHORTEST} - self._secrets
        if new:
            self._secrets |= new
            self._make()

    def _make(self) -> None:
        spellings: set[str] = set()
        for secret in self._secrets:
            spellings |= {secret, json.dumps(secret)[1:-1], json.dumps(secret, ensure_ascii=False)[1:-1]}
        longest_first = sorted(spellings, key=len, reverse=True)
        self._pattern = re.compile("|".join([*map(re.escape, longest_first), _SHAPES]))
        signs = {key: list(of) for key, of in _SIGNS.items()}
        for spelling in longest_first:
            signs.setdefault(_rarest(spelling), []).append(spelling)
        self._signs = tuple((key, tuple(of)) for key, of in signs.items())

    def __call__(self, text: str) -> str:
        """The text without secrets."""
        # Looking for plain pieces first: most texts hold none, and the pattern alone costs 30 ns a character.
        for key, signs in self._signs:
            if key in text:
                for sign in signs:
                    if sign in text:
                        return self._pattern.sub(MARK, text)
        return text


def _rarest(text: str) -> str:
    """The character of it that other texts hold the least."""
    return max(text, key=lambda character: _COMMON.find(character) % 100)


def redactor(secrets: Iterable[str]) -> Redactor:
    """A function that replaces every secret."""
    return Redactor(secrets)


def cleaned(value: Any, redact: Redact) -> Any:
    """Plain JSON values without secrets. In texts only: a number that looks like a secret would break the JSON that it stands in."""
    if isinstance(value, str):
        return redact(value)
    if isinstance(value, list):
        return [cleaned(item, redact) for item in value]
    if isinstance(value, dict):
        return {redact(key): cleaned(item, redact) for key, item in value.items()}
    return value

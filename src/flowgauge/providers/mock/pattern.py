r"""Write a text that a simple regular expression matches.

Knows literals, classes, `\d \w \s .`, groups, alternatives and quantifiers;
anchors are satisfied by generating nothing around them. Answers None for
anything else (look-around, back-references) and for what it cannot meet.
"""

from __future__ import annotations

import re
import string

from flowgauge.providers.mock.dice import Dice

_ESCAPES = {"d": string.digits, "w": string.ascii_lowercase + string.digits + "_", "s": " ", "n": "\n", "t": "\t"}
_EVERYTHING = string.ascii_letters + string.digits + "_- "
_NAMED = {"D": string.ascii_lowercase, "W": "-", "S": string.ascii_lowercase + string.digits}
_TRIES = 24


class _Unknown(Exception):
    """A construct that is not simple."""


def text_matching(pattern: str, shortest: int, longest: int | None, dice: Dice) -> str | None:
    """A text of the wanted length that `re.search` accepts; None where none was found."""
    try:
        wanted = re.compile(pattern)
        for more in range(_TRIES):
            writer = _Writer(pattern, dice, more=max(0, more - 2))
            text = writer.alternatives()
            if writer.at < len(pattern):
                return None
            if len(text) < shortest and not pattern.endswith("$"):
                text = text.ljust(shortest, "x")
            if len(text) >= shortest and (longest is None or len(text) <= longest) and wanted.search(text):
                return text
    except (_Unknown, re.error, RecursionError):
        return None
    return None


class _Writer:
    """Reads the pattern once from left to right and writes as it reads."""

    def __init__(self, pattern: str, dice: Dice, more: int) -> None:
        self.pattern = pattern
        self.dice = dice
        self.more = more
        self.at = 0

    def alternatives(self) -> str:
        options = [self._sequence()]
        while self._peek() == "|":
            self.at += 1
            options.append(self._sequence())
        return self.dice.pick(options)

    def _peek(self) -> str:
        return self.pattern[self.at : self.at + 1]

    def _sequence(self) -> str:
        written = []
        while (char := self._peek()) and char not in "|)":
            if char in "^$":
                self.at += 1
                continue
            start = self.at
            piece = self._atom()
            after = self.at
            times = self._times()
            end = self.at
            pieces = [piece] if times else []
            for _ in range(times - 1):
                self.at = start
                pieces.append(self._atom())
                self.at = after
            self.at = end
            written += pieces
        return "".join(written)

    def _atom(self) -> str:
        char = self._peek()
        self.at += 1
        if char == "(":
            return self._group()
        if char == "[":
            return self.dice.pick(self._members())
        if char == "\\":
            return self._escaped()
        if char == ".":
            return self.dice.pick(string.ascii_lowercase)
        if char in "*+?{":
            raise _Unknown
        return char

    def _group(self) -> str:
        if self._peek() == "?":
            named = re.compile(r"\?(:|P?<\w+>)").match(self.pattern, self.at)
            if not named:
                raise _Unknown
            self.at = named.end()
        text = self.alternatives()
        if self._peek() != ")":
            raise _Unknown
        self.at += 1
        return text

    def _escaped(self) -> str:
        char = self._peek()
        self.at += 1
        if char in "bBAZz":
            return ""
        if char.isdigit() or char in "uxpP":
            raise _Unknown
        return self.dice.pick(_ESCAPES.get(char) or _NAMED.get(char) or char)

    def _members(self) -> str:
        end = self.pattern.index("]", self.at + 1) if "]" in self.pattern[self.at + 1 :] else -1
        while end > 0 and self.pattern[end - 1] == "\\":
            end = self.pattern.find("]", end + 1)
        if end < 0:
            raise _Unknown
        inside = self.pattern[self.at : end]
        self.at = end + 1
        allowed = re.compile(f"[{inside}]")
        members = "".join(char for char in string.printable[:95] if allowed.fullmatch(char))
        if not members:
            raise _Unknown
        simple = "".join(char for char in members if char in _EVERYTHING)
        return simple or members

    def _times(self) -> int:
        ranged = re.compile(r"\{(\d+)(,?)(\d*)\}").match(self.pattern, self.at)
        if ranged:
            self.at = ranged.end()
            low = int(ranged[1])
            high = int(ranged[3]) if ranged[3] else (low if not ranged[2] else low + 2 + self.more)
            times = self.dice.between(low, max(low, min(high, low + 2 + self.more)))
        elif self._peek() and self._peek() in "*+?":
            sign = self._peek()
            self.at += 1
            low = 1 if sign == "+" else 0
            times = self.dice.between(low, 1) if sign == "?" else self.dice.between(low, low + 2 + self.more)
        else:
            return 1
        if self._peek() == "?":
            self.at += 1
        return times

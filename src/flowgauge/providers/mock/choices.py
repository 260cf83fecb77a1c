"""Pick one of the options that a prompt offers, by what the rest of the prompt says.

Text and options in, one option out; the same text always gets the same one.
Knows a few words that belong to common labels, so that offline runs make sense.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from flowgauge.providers.mock.dice import Dice

_OPTION = r"[\"'`]?[\w][\w-]*[\"'`]?"
_LIST = rf"({_OPTION}(?:\s*,\s*{_OPTION})*\s*,?\s+or\s+{_OPTION})"
_ONE_OF = re.compile(
    r"\b(?:one of|choose from|options|labels|categories)(?: the following| these)?(?: labels| words| categories)?\s*:?\s+([^\n.?;]+)",
    re.IGNORECASE,
)
_ASKED = re.compile(rf"{_LIST}\s*\?", re.IGNORECASE)
_TOLD = re.compile(rf"\b(?:as|with|either|label|category|say|answer|reply)\s*:?\s+{_LIST}", re.IGNORECASE)

_BELONGS: dict[str, str] = {
    "billing": "invoice charge charged refund payment pay paid card subscription price bill cost money receipt",
    "technical": "error crash bug broken install login password fails failing slow timeout code api server screen",
    "shipping": "delivery parcel package courier late tracking arrived ship shipped address",
    "sales": "buy purchase quote offer plan upgrade demo trial licence license",
    "account": "login password account email profile username sign",
    "positive": "great good love excellent thanks thank happy wonderful perfect best amazing helpful",
    "negative": "bad terrible hate awful angry broken worst disappointed never slow refund poor useless",
    "high": "urgent immediately asap critical down outage emergency now security",
    "urgent": "urgent immediately asap critical down outage emergency now security",
    "low": "whenever minor typo cosmetic someday question curious",
    "spam": "winner prize free click lottery viagra offer urgent money",
    "yes": "correct true valid agree same passes success",
    "no": "wrong false invalid disagree different fails error not",
}
_OTHERWISE = {"general", "other", "neutral", "unknown", "none", "medium", "normal"}


def offered(text: str) -> tuple[tuple[str, ...], str]:
    """The options of `a, b or c?` or `one of: a, b, c`, and the text without them. No options: an empty tuple."""
    for pattern in (_ASKED, _ONE_OF, _TOLD):
        for found in pattern.finditer(text):
            options = _split(found[1])
            if len(options) > 1:
                return options, text[: found.start(1)] + " " + text[found.end(1) :]
    return (), text


def _split(listed: str) -> tuple[str, ...]:
    parts = re.split(r"\s*[,|/]\s*(?:or\s+|and\s+)?|\s+or\s+|\s+and\s+", listed.strip())
    options = [part.strip(" \"'`.()") for part in parts]
    short = [option for option in options if option and len(option.split()) <= 4]
    return tuple(dict.fromkeys(short)) if len(short) == len([part for part in parts if part.strip()]) else ()


def choose(options: Sequence[str], text: str, dice: Dice) -> str:
    """The option that most words of the text belong to; a catch-all before chance."""
    said = set(re.findall(r"[a-z]+", text.lower()))
    scores = [_score(option.lower(), said) for option in options]
    best = max(scores)
    if best:
        return options[scores.index(best)]
    for option in options:
        if option.lower() in _OTHERWISE:
            return option
    return dice.pick(options)


def _score(option: str, said: set[str]) -> int:
    own = set(re.findall(r"[a-z]+", option))
    belongs = {word for part in own for word in _BELONGS.get(part, "").split()}
    stems = {word[:5] for word in own if len(word) >= 5}
    return 2 * len(own & said) + len(belongs & said) + sum(1 for word in said if word[:5] in stems)

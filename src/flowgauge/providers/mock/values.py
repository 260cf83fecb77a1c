"""Plausible values by the name of a field, taken from the prompt where it holds them.

A field's name, its format and the prompt in; a text or a number out. Invents
nothing that could be mistaken for a real person or address: example.com, 555.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from flowgauge.providers.mock.dice import Dice

_COMMON = frozenset(
    re.findall(
        r"\w+",
        "about above after again also answer anything asked because been before being below between both could does doing down during each "
        "every following from give given have having here into just like make many more most must need only other please reply return said "
        "same should some such tell text than that their them then there these they this those through under until very want were what "
        "when where which while will with word words would write your yours python function json",
    )
)
_PLAIN = ("careful", "clear", "simple", "steady", "useful", "sound", "brief", "regular")
_NAMES = ("Ada Example", "Sam Example", "Kim Example", "Lee Example", "Max Example")
_CITIES = ("Paris", "Oslo", "Lima", "Cairo", "Kyoto")
_EMAIL = re.compile(r"[\w.+-]+@[\w-]+\.[\w.-]*\w")
_URL = re.compile(r"https?://[^\s\"'<>)]+")
_DATE = re.compile(r"\b\d{4}-\d{2}-\d{2}\b")
_SUM = re.compile(r"\d+(?:\.\d+)?(?:\s*[-+*/]\s*\d+(?:\.\d+)?)+")
_PLACE = re.compile(r"\b(?:in|at|to|from|for|near)\s+([A-Z][a-zà-ÿ]+(?:\s[A-Z][a-zà-ÿ]+)?)")
_PERSON = re.compile(r"\b([A-Z][a-zà-ÿ]+\s[A-Z][a-zà-ÿ]+)\b")


def keywords(text: str) -> list[str]:
    """The words that carry meaning, each once, in order."""
    words = (word.lower() for word in re.findall(r"[A-Za-z][A-Za-z-]{3,}", text[:8000]))
    return list(dict.fromkeys(word for word in words if word not in _COMMON))


def sentence(text: str, dice: Dice) -> str:
    """A short one that reuses words of the prompt."""
    words = keywords(text)
    if not words:
        return f"That is a {dice.pick(_PLAIN)} request, and this is a {dice.pick(_PLAIN)} answer."
    first, second, third = (dice.pick(words) for _ in range(3))
    forms = (
        f"In short, the {first} matters most here, and {second} follows from it.",
        f"A {dice.pick(_PLAIN)} look at {first} and {second} is the best next step.",
        f"It comes down to {first}: keep {second} {dice.pick(_PLAIN)} and check {third} afterwards.",
        f"The point about {first} is {dice.pick(_PLAIN)}, so {second} can go ahead.",
    )
    return dice.pick(forms)


def _found(pattern: re.Pattern[str], text: str, group: int = 0) -> str | None:
    match = pattern.search(text)
    return match[group] if match else None


def _code(text: str, dice: Dice) -> str:
    return _found(re.compile(r"\b(?=[A-Z0-9-]*\d)[A-Z0-9]+(?:-[A-Z0-9]+)*\b"), text) or f"X-{dice.between(1000, 9999)}"


def _title(text: str, dice: Dice) -> str:
    return " ".join(keywords(text)[:4]).capitalize() or dice.pick(_PLAIN).capitalize()


def _word(text: str, dice: Dice) -> str:
    return dice.pick(keywords(text) or list(_PLAIN))


_BY_NAME: tuple[tuple[str, Callable[[str, Dice], str]], ...] = (
    (r"e?mail", lambda text, dice: _found(_EMAIL, text) or f"{dice.pick(_NAMES).split()[0].lower()}@example.com"),
    (r"ur[il]|link|website", lambda text, dice: _found(_URL, text) or f"https://example.com/{dice.pick(_PLAIN)}"),
    (r"phone|mobile", lambda _text, dice: f"+1-555-{dice.between(0, 9999):04d}"),
    (r"city|location|place|town|destination|country", lambda text, dice: _found(_PLACE, text, 1) or dice.pick(_CITIES)),
    (r"expression|formula", lambda text, dice: _found(_SUM, text) or f"{dice.between(2, 9)} * {dice.between(2, 9)}"),
    (r"date|day|deadline|due", lambda text, dice: _found(_DATE, text) or f"2025-{dice.between(1, 12):02d}-{dice.between(1, 28):02d}"),
    (r"title|subject|headline|topic", _title),
    (r"(full|first|last|user)_?name|^name$|author|person|customer", lambda text, dice: _found(_PERSON, text, 1) or dice.pick(_NAMES)),
    (r"id$|code|number|order|reference|sku", _code),
    (r"currency", lambda text, _dice: "EUR" if "€" in text or "EUR" in text else "USD"),
    (r"lang(uage)?", lambda _text, _dice: "en"),
    (r"query|question|search|keyword", lambda text, dice: " ".join(keywords(text)[:5]) or dice.pick(_PLAIN)),
    (r"tag|label|category|kind|type|topic|word", _word),
)  # fmt: skip


def text_for(name: str, text: str, dice: Dice) -> str:
    """What the prompt says of the field (`name: value`), what its name suggests, or a sentence."""
    plain = name.replace("_", " ")
    if name and (said := re.search(rf"\b{re.escape(plain)}\s*(?:is|[:=])\s*[\"']?([^\n\"',;]+)", text, re.IGNORECASE)):
        return said[1].strip().rstrip(".")
    for pattern, make in _BY_NAME:
        if re.search(pattern, name, re.IGNORECASE):
            return make(text, dice)
    return sentence(text, dice)


def number_for(name: str, text: str) -> float | None:
    """A number that the prompt gives for the field: after its name, or an amount of money."""
    plain = re.escape(name.replace("_", " "))
    found = re.search(rf"\b{plain}\D{{0,12}}?(-?\d+(?:\.\d+)?)", text, re.IGNORECASE) if name else None
    if not found and re.search(r"amount|price|total|cost|sum", name, re.IGNORECASE):
        found = re.search(r"[$€£]\s?(\d+(?:\.\d+)?)", text)
    return float(found[1]) if found else None


def formatted(kind: str, text: str, dice: Dice) -> str | None:
    """A text of a JSON Schema format; None for a format that says nothing here."""
    make = _FORMATS.get(kind)
    return make(text, dice) if make else None


def _hex(dice: Dice, digits: int) -> str:
    return f"{dice.word():016x}"[:digits]


def _moment(text: str, dice: Dice) -> str:
    return f"{_FORMATS['date'](text, dice)}T{dice.between(0, 23):02d}:{dice.between(0, 59):02d}:00Z"


def _uuid(_text: str, dice: Dice) -> str:
    return f"{_hex(dice, 8)}-{_hex(dice, 4)}-4{_hex(dice, 3)}-a{_hex(dice, 3)}-{_hex(dice, 12)}"


_FORMATS: dict[str, Callable[[str, Dice], str]] = {
    "email": _BY_NAME[0][1],
    "idn-email": _BY_NAME[0][1],
    "uri": _BY_NAME[1][1],
    "uri-reference": lambda _text, dice: f"/{dice.pick(_PLAIN)}",
    "iri": _BY_NAME[1][1],
    "url": _BY_NAME[1][1],
    "date": lambda _text, dice: f"2025-{dice.between(1, 12):02d}-{dice.between(1, 28):02d}",
    "time": lambda _text, dice: f"{dice.between(0, 23):02d}:{dice.between(0, 59):02d}:00Z",
    "date-time": _moment,
    "duration": lambda _text, dice: f"PT{dice.between(1, 59)}M",
    "uuid": _uuid,
    "hostname": lambda _text, dice: f"{dice.pick(_PLAIN)}.example.com",
    "ipv4": lambda _text, dice: f"192.0.2.{dice.between(1, 254)}",
    "ipv6": lambda _text, dice: f"2001:db8::{_hex(dice, 4)}",
    "regex": lambda _text, _dice: "^[a-z]+$",
    "json-pointer": lambda _text, dice: f"/{dice.pick(_PLAIN)}",
}

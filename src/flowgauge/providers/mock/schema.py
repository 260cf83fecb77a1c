"""Write a JSON value that conforms to a JSON Schema, with plausible words from the prompt.

A schema, the prompt and dice in; a value out. Where the schema uses keywords
that cannot be met by construction (oneOf, not, if, contains, …) values are
checked with jsonschema and thrown again. A schema that nothing meets gets the
last throw: a model would answer something too, and who asked checks it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any
from urllib.parse import unquote

import msgspec

from flowgauge.model.workflow import Json
from flowgauge.providers.mock.choices import choose
from flowgauge.providers.mock.dice import Dice
from flowgauge.providers.mock.pattern import text_matching
from flowgauge.providers.mock.values import formatted, number_for, sentence, text_for

Schema = dict[str, Any]
_HARD = (
    "oneOf",
    "not",
    "if",
    "contains",
    "patternProperties",
    "propertyNames",
    "dependentRequired",
    "dependentSchemas",
    "uniqueItems",
    "dependencies",
    "unevaluatedProperties",
)
_TRIES = 40
_DEEP = 4
_DEEPEST = 24


def conforming(schema: Schema, text: str, dice: Dice) -> Json:
    """A value of the schema."""
    writer = _Writer(schema, text, dice)
    value = writer.value(schema, "", 0)
    encoded = msgspec.json.encode(schema).decode()
    if not any(f'"{keyword}"' in encoded for keyword in _HARD):
        return value
    from jsonschema.validators import Draft202012Validator, validator_for

    validator = validator_for(schema, Draft202012Validator)(schema)
    for _ in range(_TRIES):
        if validator.is_valid(value):
            break
        value = writer.value(schema, "", 0)
    return value


def merged(one: Schema, other: Schema) -> Schema:
    """Both at once: what allOf and siblings of $ref mean, as far as one schema can say it."""
    both = {**one, **other}
    for key, join in _JOINS.items():
        if key in one and key in other:
            both[key] = join(one[key], other[key])
    return both


def _types(one: Any, other: Any) -> Any:
    ours = [one] if isinstance(one, str) else list(one)
    theirs = [other] if isinstance(other, str) else list(other)
    if "number" in ours and "integer" in theirs:
        ours.append("integer")
    if "integer" in ours and "number" in theirs:
        theirs.append("integer")
    shared = [kind for kind in ours if kind in theirs]
    return shared if len(shared) != 1 else shared[0]


def _properties(one: Schema, other: Schema) -> Schema:
    return {**one, **{name: {"allOf": [one[name], part]} if name in one else part for name, part in other.items()}}


_JOINS: dict[str, Callable[[Any, Any], Any]] = {
    "type": _types,
    "properties": _properties,
    "$defs": lambda one, other: {**one, **other},
    "required": lambda one, other: list(dict.fromkeys([*one, *other])),
    "enum": lambda one, other: [item for item in one if item in other],
    "allOf": lambda one, other: [*one, *other],
    "items": lambda one, other: {"allOf": [one, other]},
    "multipleOf": lambda one, other: math.lcm(one, other) if isinstance(one, int) and isinstance(other, int) else other,
    **dict.fromkeys(("minimum", "exclusiveMinimum", "minLength", "minItems", "minProperties"), max),
    **dict.fromkeys(("maximum", "exclusiveMaximum", "maxLength", "maxItems", "maxProperties"), min),
}


class _Writer:
    """Holds what all parts of one value share."""

    def __init__(self, root: Schema, text: str, dice: Dice) -> None:
        self.root = root
        self.text = text
        self.dice = dice

    def value(self, schema: Any, name: str, depth: int) -> Json:
        """A value of one part; `name` is the field it stands in."""
        if not isinstance(schema, dict):
            return sentence(self.text, self.dice)
        schema = self._flat(schema, depth)
        if "const" in schema:
            return schema["const"]
        if schema.get("enum"):
            return self._one_of(schema["enum"])
        write = _KINDS.get(self._kind(schema))
        return write(self, schema, name, depth) if write and depth < _DEEPEST else None

    def _flat(self, schema: Schema, depth: int) -> Schema:
        """Without $ref, allOf, anyOf and oneOf."""
        for _ in range(_DEEPEST):
            if "$ref" in schema:
                rest = {key: part for key, part in schema.items() if key != "$ref"}
                schema = merged(self._referred(schema["$ref"]), rest)
            elif "allOf" in schema:
                parts = schema["allOf"]
                schema = {key: part for key, part in schema.items() if key != "allOf"}
                for part in parts:
                    schema = merged(schema, part if isinstance(part, dict) else {})
            elif "anyOf" in schema or "oneOf" in schema:
                key = "anyOf" if "anyOf" in schema else "oneOf"
                rest = {other: part for other, part in schema.items() if other != key}
                schema = merged(rest, self._branch(schema[key], depth))
            else:
                break
        return schema

    def _referred(self, reference: str) -> Schema:
        part: Any = self.root
        for step in reference.lstrip("#").strip("/").split("/"):
            if step:
                key = unquote(step).replace("~1", "/").replace("~0", "~")
                part = part[int(key)] if isinstance(part, list) else part.get(key, {})
        return part if isinstance(part, dict) else {}

    def _branch(self, branches: list[Any], depth: int) -> Schema:
        useful = [branch for branch in branches if isinstance(branch, dict) and branch.get("type") != "null"] or [{"type": "null"}]
        if depth > _DEEP:
            simple = [branch for branch in branches if isinstance(branch, dict) and "$ref" not in branch]
            return simple[0] if simple else useful[0]
        return self.dice.pick(useful)

    def _one_of(self, options: list[Json]) -> Json:
        if all(isinstance(option, str) for option in options):
            return choose(options, self.text, self.dice)
        return self.dice.pick([option for option in options if option is not None] or [None])

    def _kind(self, schema: Schema) -> str:
        kind = schema.get("type")
        if isinstance(kind, list):
            useful = [one for one in kind if one != "null"]
            return self.dice.pick(useful) if useful else "null"
        if kind:
            return str(kind)
        return next((kind for kind, keys in _SIGNS.items() if any(key in schema for key in keys)), "string")

    def object(self, schema: Schema, _name: str, depth: int) -> Json:
        """All declared fields; deep down only the required ones."""
        properties: Schema = schema.get("properties", {})
        required = list(schema.get("required", []))
        most = schema.get("maxProperties", math.inf)
        wanted = [*required, *(key for key in properties if key not in required and depth <= _DEEP)]
        keys = [key for index, key in enumerate(wanted) if index < most or key in required]
        keys = [key for key in keys if properties.get(key) is not False]
        others = schema.get("additionalProperties", True)
        least = schema.get("minProperties", 1 if isinstance(others, dict) and not properties and most else 0)
        while len(keys) < least:
            keys.append(f"{text_for('word', self.text, self.dice)}_{len(keys)}")
        return {key: self.value(properties.get(key, others), key, depth + 1) for key in keys}

    def array(self, schema: Schema, name: str, depth: int) -> Json:
        """Two items where that is allowed, each different where it can be."""
        leading = schema.get("prefixItems", [])
        items = schema.get("items", True)
        least = schema.get("minItems", 0)
        most = schema.get("maxItems", math.inf if items is not False else len(leading))
        count = int(min(max(least, len(leading), 2 if depth <= _DEEP else 0), most))
        singular = name.removesuffix("s")
        values: list[Json] = []
        for index in range(count):
            part = leading[index] if index < len(leading) else items
            value = self.value(part, singular, depth + 1)
            for _ in range(_TRIES):
                if value not in values:
                    break
                value = self.value(part, "", depth + 1) if not self._enumerated(part) else self.dice.pick(part["enum"])
            if value not in values or index < least or index < len(leading):
                values.append(value)
        return values

    @staticmethod
    def _enumerated(part: Any) -> bool:
        return isinstance(part, dict) and bool(part.get("enum"))

    def string(self, schema: Schema, name: str, _depth: int) -> Json:
        """By pattern, by format, by name; then as long as asked."""
        shortest, longest = int(schema.get("minLength", 0)), schema.get("maxLength")
        if "pattern" in schema:
            written = text_matching(schema["pattern"], shortest, longest, self.dice)
            if written is not None:
                return written
        text = formatted(schema.get("format", ""), self.text, self.dice) or text_for(name, self.text, self.dice)
        while len(text) < shortest:
            text = f"{text} {sentence(self.text, self.dice)}"
        return text if longest is None or len(text) <= longest else self._shortened(text, shortest, int(longest))

    @staticmethod
    def _shortened(text: str, shortest: int, longest: int) -> str:
        whole_words = text[: longest + 1].rsplit(" ", 1)[0].rstrip(" ,.:")
        return whole_words if max(shortest, 1) <= len(whole_words) <= longest else text[:longest]

    def number(self, schema: Schema, name: str, _depth: int) -> Json:
        """What the prompt says where it fits the limits; else between them."""
        low, high = _limits(schema, whole=False)
        step = schema.get("multipleOf")
        said = number_for(name, self.text)
        if said is not None and low <= said <= high and not step:
            return said
        if step:
            return self._multiple(step, low, high)
        value = low + (high - low) * self.dice.unit()
        rounded = round(value, 2)
        return rounded if low < rounded < high else (value if low < value < high or low == high else (low + high) / 2)

    def integer(self, schema: Schema, name: str, _depth: int) -> Json:
        """Like number, without a fraction."""
        low, high = _limits(schema, whole=True)
        said = number_for(name, self.text)
        step = schema.get("multipleOf", 1)
        if said is not None and said.is_integer() and low <= said <= high and step == 1:
            return int(said)
        if not float(step).is_integer():
            step = next(times for times in range(1, 1000) if (times * step).is_integer()) * step
        return self._multiple(int(step), low, high)

    def _multiple(self, step: float, low: float, high: float) -> Json:
        first, last = math.ceil(low / step), math.floor(high / step)
        if last < first:
            return first * step
        for _ in range(_TRIES):
            value = self.dice.between(first, last) * step
            if low <= value <= high and (value / step).is_integer():
                return value
        return next(
            (times * step for times in range(first, min(last, first + 10_000) + 1) if (times * step / step).is_integer()), first * step
        )

    def boolean(self, _schema: Schema, _name: str, _depth: int) -> Json:
        """Yes or no."""
        return self.dice.unit() < 0.5


def _limits(schema: Schema, *, whole: bool) -> tuple[float, float]:
    """The smallest and the largest value; where only one side is given the other is some way off."""
    low, high = schema.get("minimum"), schema.get("maximum")
    above, below = schema.get("exclusiveMinimum"), schema.get("exclusiveMaximum")
    if above is not None and above is not False:
        edge = math.floor(above) + 1 if whole else math.nextafter(above, math.inf)
        low = edge if low is None else max(low, edge)
    if below is not None and below is not False:
        edge = math.ceil(below) - 1 if whole else math.nextafter(below, -math.inf)
        high = edge if high is None else min(high, edge)
    far = 100 * max(1, math.ceil(schema.get("multipleOf", 1)))
    if low is None:
        low = min(0, high - far) if high is not None and high <= 0 else min(1, high if high is not None else 1)
    if high is None:
        high = low + far
    return (math.ceil(low), math.floor(high)) if whole else (low, high)


_KINDS: dict[str, Callable[[_Writer, Schema, str, int], Json]] = {
    "object": _Writer.object,
    "array": _Writer.array,
    "string": _Writer.string,
    "number": _Writer.number,
    "integer": _Writer.integer,
    "boolean": _Writer.boolean,
}
_SIGNS: dict[str, tuple[str, ...]] = {
    "object": ("properties", "required", "additionalProperties", "minProperties", "maxProperties"),
    "array": ("items", "prefixItems", "minItems", "maxItems", "uniqueItems"),
    "number": ("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum", "multipleOf"),
}

"""Templates in a check's value and options: `{{ expected.label }}`, `{{ inputs.n }}`, `{{ output.x }}`, `{{ nodes.a.text }}`.

Parse once, fill once a case where only `expected` and `inputs` are named. What
`expected` or `inputs` lack is an error of the check, never a value; what the
output lacks is a wrong answer (LacksOutput).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from flowgauge.errors import Failed
from flowgauge.lang.path import Path, Scope, spell, template_failure
from flowgauge.lang.template import OPEN, parse_template
from flowgauge.model.workflow import Json

GIVEN = frozenset({"expected", "inputs"})
"""Known before the target runs."""
ROOTS = GIVEN | {"output", "nodes"}


class LacksOutput(Exception):
    """A template names a part of the output that is not there; the text says which."""


class Filled:
    """A value with its templates parsed. Raises TemplateSyntaxError when made."""

    __slots__ = ("_given", "_render", "roots", "value")

    def __init__(self, value: Json) -> None:
        paths: list[Path] = []
        self.value = value
        self._render = _compile(value, paths)
        self._given = tuple(path for path in paths if path.root in GIVEN and not path.optional)
        self.roots = frozenset(path.root for path in paths)

    def fill(self, scope: Scope) -> Any:
        """The value with its holes filled. Raises Failed and LacksOutput."""
        if self._render is None:
            return self.value
        for path in self._given:
            _must_exist(path, scope)
        try:
            return self._render(scope)
        except Failed as error:
            if self.roots <= GIVEN:
                raise
            raise LacksOutput(error.failure.message) from error


def holds_template(value: Json) -> bool:
    """Is there a hole anywhere in it?"""
    return any(OPEN in text for text in _texts(value))


def _texts(value: Json) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for entry in value.values():
            yield from _texts(entry)
    elif isinstance(value, list | tuple):
        for entry in value:
            yield from _texts(entry)


def _must_exist(path: Path, scope: Scope) -> None:
    """A path through null is null elsewhere; here it would let a missing gold label equal a missing answer."""
    if path.find(scope) is None and path.keys:
        above = Path(path.root, path.keys[:-1])
        if above.find(scope) is None:
            raise template_failure(f"{spell(above.root, above.keys)} is null: there is no {path}.")


def _compile(value: Json, paths: list[Path]) -> Callable[[Scope], Any] | None:
    """A function that renders, or None for a constant."""
    if isinstance(value, str):
        if OPEN not in value:
            return None
        template = parse_template(value, ROOTS)
        paths.extend(template.paths)
        return template.render
    if isinstance(value, dict):
        entries = {key: render for key, entry in value.items() if (render := _compile(entry, paths))}
        return (lambda scope: value | {key: render(scope) for key, render in entries.items()}) if entries else None
    if isinstance(value, list | tuple):
        items = [(_compile(entry, paths), entry) for entry in value]
        return (lambda scope: [render(scope) if render else entry for render, entry in items]) if any(r for r, _ in items) else None
    return None

"""Templates inside values: every string of a nested object or array is a template; keys are not.

Compile once and render often, or render at once. What holds no template is
handed back as it is, not copied.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from flowgauge.lang.path import Path, Scope
from flowgauge.lang.template import OPEN, parse_template


class Compiled:
    """A value with its templates parsed."""

    __slots__ = ("_render", "paths", "value")

    def __init__(self, value: Any) -> None:
        found: list[Path] = []
        self.value = value
        self._render = _compile(value, found)
        self.paths = tuple(found)

    def render(self, scope: Scope) -> Any:
        """The value with its holes filled."""
        return self.value if self._render is None else self._render(scope)


def compile_value(value: Any) -> Compiled:
    """Parse every template in a value. Raises TemplateSyntaxError."""
    return Compiled(value)


def render_value(value: Any, scope: Scope) -> Any:
    """Fill the holes of a value at once."""
    if isinstance(value, str):
        return parse_template(value).render(scope) if OPEN in value else value
    if isinstance(value, Mapping):
        return {key: render_value(entry, scope) for key, entry in value.items()}
    if isinstance(value, (list, tuple)):
        return [render_value(entry, scope) for entry in value]
    return value


def _compile(value: Any, found: list[Path]) -> Callable[[Scope], Any] | None:
    """A function that renders, or None for a constant."""
    if isinstance(value, str):
        if OPEN not in value:
            return None
        template = parse_template(value)
        found.extend(template.paths)
        return template.render
    if isinstance(value, Mapping):
        return _compile_object(value, found)
    if isinstance(value, (list, tuple)):
        return _compile_array(value, found)
    return None


def _compile_object(value: Mapping[str, Any], found: list[Path]) -> Callable[[Scope], Any] | None:
    renders = [(key, render) for key, entry in value.items() if (render := _compile(entry, found)) is not None]
    if not renders:
        return None
    constant = dict(value)

    def render_object(scope: Scope) -> dict[str, Any]:
        result = dict(constant)
        for key, render in renders:
            result[key] = render(scope)
        return result

    return render_object


def _compile_array(value: list[Any] | tuple[Any, ...], found: list[Path]) -> Callable[[Scope], Any] | None:
    renders = [(index, render) for index, entry in enumerate(value) if (render := _compile(entry, found)) is not None]
    if not renders:
        return None
    constant = list(value)

    def render_array(scope: Scope) -> list[Any]:
        result = list(constant)
        for index, render in renders:
            result[index] = render(scope)
        return result

    return render_array

"""What all episodes of a worker share: the functions, classes and modules that loaded modules name.

Taken once the rows are loaded; put back after every episode, so that one that
rebinds `time.sleep` does not fail the next. Looked at are names, not what is
inside a class or an object; a module that an episode loads is looked at from
its end on.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from operator import itemgetter
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

_FIXED = (FunctionType, BuiltinFunctionType, type, ModuleType)
"""Nobody rebinds a name of one of these in the course of things; counters, caches and settings are left alone."""
_NOT_LOOKED_AT = ("builtins", "flowgauge.")
"""Builtins are put back elsewhere; nobody rebinds what is inside of us by mistake."""


class SharedModules:
    """One for the worker's whole life."""

    def __init__(self) -> None:
        self._names: dict[str, _Names] = {}
        self._known = 0
        self._learn()

    def restore(self) -> None:
        """After an episode, before anything of ours runs again."""
        for name, names in self._names.items():
            if sys.modules.get(name) is not names.module:
                sys.modules[name] = names.module
            names.restore()
        if len(sys.modules) != self._known:
            self._learn()

    def _learn(self) -> None:
        for name, module in tuple(sys.modules.items()):
            if name not in self._names and not name.startswith(_NOT_LOOKED_AT) and isinstance(module, ModuleType):
                self._names[name] = _Names(module)
        self._known = len(sys.modules)


def _get_nothing(_: dict[str, Any]) -> tuple[Any, ...]:
    return ()


class _Names:
    """The fixed names of a module, and what they meant."""

    def __init__(self, module: ModuleType) -> None:
        self.module = module
        self._now: dict[str, Any] = vars(module)
        self._before = {name: value for name, value in tuple(self._now.items()) if isinstance(value, _FIXED)}
        # All in C, and by identity first: a worker has ten thousand of them. With a single name itemgetter would give no tuple.
        self._get: Callable[[dict[str, Any]], tuple[Any, ...]] = _get_nothing
        if self._before:
            self._get = itemgetter(*self._before, next(iter(self._before)))
        self._values = self._get(self._now)

    def restore(self) -> None:
        if not self._is_as_before():
            self._now.update(self._before)

    def _is_as_before(self) -> bool:
        try:
            return self._get(self._now) == self._values
        except Exception:  # noqa: BLE001 - a name is gone, or what stands there does not like to be compared
            return False

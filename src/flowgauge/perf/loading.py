"""Functions that a scenario names: `agents.py:explorer` beside it, or `package.module:function`."""

from __future__ import annotations

import hashlib
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from flowgauge.errors import UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.run.targets.importing import find_object


def split_reference(reference: str) -> tuple[str, str]:
    """Where, and which name there."""
    place, _, name = reference.rpartition(":")
    return place, name


def is_file(reference: str) -> bool:
    """A file, not a module."""
    return split_reference(reference)[0].endswith(".py")


def load_function(reference: str, folder: Path) -> Callable[..., Any]:
    """The function meant. Raises UsageError that says what is missing."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))
    found = _from_file(reference, folder) if is_file(reference) else find_object(reference)
    if not callable(found):
        raise UsageError(f"{reference} is not a function.", remedy="Name one that can be called.")
    function: Callable[..., Any] = found
    return function


def _from_file(reference: str, folder: Path) -> Any:
    place, name = split_reference(reference)
    path = (folder / place).resolve()
    module = sys.modules.get(_module_name(path)) or _execute(path, reference)
    try:
        return getattr(module, name)
    except AttributeError:
        names = [known for known in vars(module) if not known.startswith("_")]
        raise UsageError(f"{place} defines no '{name}'.", remedy=did_you_mean(name, names)) from None


def _module_name(path: Path) -> str:
    return f"flowgauge_perf_{hashlib.sha256(str(path).encode()).hexdigest()[:12]}"


def _execute(path: Path, reference: str) -> Any:
    spec = importlib.util.spec_from_file_location(_module_name(path), path)
    if spec is None or spec.loader is None:
        raise UsageError(f"{reference}: {path.name} cannot be read as Python.", remedy="Name a .py file.")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException as error:
        del sys.modules[spec.name]
        raise UsageError(f"{reference} cannot be imported: {_told(error)}.", remedy="Correct the file.") from error
    return module


def _told(error: BaseException) -> str:
    return f"it calls sys.exit({error.code!r})" if isinstance(error, SystemExit) else f"{type(error).__name__}: {error}"

"""Finds an object by its name `package.module:object`, also in the folder one stands in."""

from __future__ import annotations

import importlib
import sys
from typing import Any

from flowgauge.errors import UsageError


def find_object(reference: str) -> Any:
    """The object meant. Raises UsageError that says what is missing."""
    module_name, colon, path = reference.partition(":")
    if not (colon and module_name and path):
        raise UsageError(f"'{reference}' names no object.", remedy="Write package.module:name.")
    if "" not in sys.path:
        sys.path.insert(0, "")
    try:
        found: Any = importlib.import_module(module_name)
    except Exception as error:
        why = f"{type(error).__name__}: {error}"
        raise UsageError(f"Cannot import {module_name}: {why}.", remedy="Is it installed, or its folder on PYTHONPATH?") from error
    for part in path.split("."):
        try:
            found = getattr(found, part)
        except AttributeError as error:
            raise UsageError(f"{module_name} has no '{path}'.", remedy="Write package.module:name.") from error
    return found

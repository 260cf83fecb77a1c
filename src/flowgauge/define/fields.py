"""What a struct lets a file write at a place: read off its type hints."""

from __future__ import annotations

from types import NoneType, UnionType
from typing import Annotated, Any, Union, get_args, get_origin

import msgspec
from msgspec import UnsetType

Struct = type[msgspec.Struct]


def struct_at(struct: Struct, way: tuple[str | int, ...]) -> Struct | None:
    """The struct that a way into a value leads to; None where it leads to something else."""
    found: Any = struct
    for key in way:
        found = _inner(found, key)
    return found if isinstance(found, type) and issubclass(found, msgspec.Struct) else None


def field_names(struct: Struct) -> list[str]:
    """What a file may write there."""
    names = [field.encode_name for field in msgspec.structs.fields(struct)]
    tag_field = struct.__struct_config__.tag_field
    return [*names, tag_field] if tag_field else names


def _inner(hint: Any, key: str | int) -> Any:
    hint = bare(hint)
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return next((bare(field.type) for field in msgspec.structs.fields(hint) if field.encode_name == key), None)
    arguments = get_args(hint)
    if get_origin(hint) is tuple:
        return bare(arguments[0])
    if get_origin(hint) is dict:
        return bare(arguments[1])
    return None


def bare(hint: Any) -> Any:
    """A type hint without Annotated and without `| None`."""
    while get_origin(hint) in (Annotated, Union, UnionType):
        choices = [one for one in get_args(hint) if one not in (NoneType, UnsetType)]
        if get_origin(hint) is not Annotated and len(choices) != 1:
            return None
        hint = choices[0]
    return hint

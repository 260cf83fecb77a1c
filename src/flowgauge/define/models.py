"""pydantic models made from the msgspec structs, so that a file's mistakes are all listed at once.

In: a struct. Out: a strict model with the same fields and constraints, made
once. The struct stays the only declaration; nothing is written twice.
"""

from __future__ import annotations

from functools import lru_cache
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

import msgspec
from msgspec import Meta, UnsetType
from pydantic import BaseModel, ConfigDict, Field, ValidationError, create_model
from pydantic_core import ErrorDetails

Struct = type[msgspec.Struct]
_STRICT = ConfigDict(strict=True, extra="forbid", arbitrary_types_allowed=True, allow_inf_nan=False)
_CONSTRAINTS = ("gt", "ge", "lt", "le", "multiple_of", "pattern", "min_length", "max_length")


def list_faults(struct: Struct, value: Any, requires: tuple[str, ...]) -> list[ErrorDetails]:
    """Every way in which a value does not fit a struct; `requires` names fields that must stand here though they have a default."""
    try:
        model_of(struct, requires).model_validate(value)
    except ValidationError as error:
        return error.errors(include_url=False, include_context=True)
    return []


@lru_cache(maxsize=256)
def model_of(struct: Struct, requires: tuple[str, ...] = ()) -> type[BaseModel]:
    """The model of a struct."""
    fields: dict[str, Any] = {}
    if (tag := struct.__struct_config__.tag) is not None:
        fields["tag_field"] = (Literal[tag], Field(alias=struct.__struct_config__.tag_field))
    for number, field in enumerate(msgspec.structs.fields(struct)):
        default = ... if field.required or field.encode_name in requires else None
        fields[f"field_{number}"] = (annotation_of(field.type), Field(default, alias=field.encode_name))
    model: type[BaseModel] = create_model(struct.__name__, __config__=_STRICT, **fields)
    return model


def annotation_of(hint: Any) -> Any:
    """A struct's type hint as pydantic reads it: lists for tuples, models for structs, Field for Meta."""
    origin, arguments = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return _constrained(arguments[0], [extra for extra in arguments[1:] if isinstance(extra, Meta)])
    if origin in (Union, UnionType):
        return Union[tuple(annotation_of(one) for one in arguments if one is not UnsetType)]  # noqa: UP007
    if origin is tuple:
        return list[annotation_of(arguments[0])]  # type: ignore[misc]
    if origin is dict:
        return dict[str, annotation_of(arguments[1])]  # type: ignore[misc]
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return model_of(hint)
    return hint


def _constrained(inner: Any, metas: list[Meta]) -> Any:
    annotation = annotation_of(inner)
    for meta in metas:
        constraints = {name: limit for name in _CONSTRAINTS if (limit := getattr(meta, name)) is not None}
        if constraints:
            annotation = Annotated[annotation, Field(**constraints)]
    return annotation

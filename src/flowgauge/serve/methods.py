"""The client's methods, one an operation, made from the table. Their types stand in `methods.pyi`, which a test holds to it."""

import inspect

import msgspec

from flowgauge.app.operations.table import OPERATIONS


class Methods:
    """What `Client` inherits."""


def _method(operation):
    def method(self, **params):
        return self.call(operation.name, **params)

    method.__name__ = operation.name
    method.__qualname__ = f"Methods.{operation.name}"
    method.__doc__ = operation.summary
    method.__signature__ = inspect.Signature(
        [
            inspect.Parameter("self", inspect.Parameter.POSITIONAL_ONLY),
            *(_parameter(field) for field in msgspec.structs.fields(operation.params)),
        ],
        return_annotation=operation.result,
    )
    return method


def _parameter(field):
    default = inspect.Parameter.empty if field.required else field.default
    return inspect.Parameter(field.encode_name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=field.type)


for _operation in OPERATIONS.values():
    setattr(Methods, _operation.name, _method(_operation))

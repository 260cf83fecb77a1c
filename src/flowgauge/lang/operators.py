"""What a condition may compute, on JSON values only, each result bounded in size.

Values in, value out; what does not fit is errors.Failed with the kinds named.
Booleans are not numbers, strings are not repeated and not formatted.
"""

from __future__ import annotations

import ast
import operator
from collections.abc import Callable, Mapping
from typing import Any

from flowgauge.lang.path import kind_of, template_failure

MAX_TEXT = 1_000_000
MAX_ITEMS = 100_000
MAX_NUMBER = 2**63

METHODS: dict[str, tuple[int, int]] = {
    "strip": (0, 1),
    "lower": (0, 0),
    "upper": (0, 0),
    "startswith": (1, 1),
    "endswith": (1, 1),
    "split": (0, 2),
}
"""The string methods, with how many arguments each takes."""

Binary = Callable[[Any, Any], Any]


def call_len(value: Any) -> int:
    """How many characters, items or keys."""
    if isinstance(value, (str, list, tuple, Mapping)):
        return len(value)
    raise template_failure(f"len() needs a string, array or object, not {kind_of(value)}.")


def call_method(name: str, subject: Any, arguments: list[Any]) -> Any:
    """A method of a string."""
    if not isinstance(subject, str):
        raise template_failure(f"{name}() needs a string, not {kind_of(subject)}.")
    try:
        return getattr(str, name)(subject, *map(_argument, arguments))
    except (TypeError, ValueError) as error:
        raise template_failure(f"{name}(): {error}.") from None


def negative(value: Any) -> Any:
    """Unary minus."""
    return -_number("-", value)


def _argument(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def _number(symbol: str, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise template_failure(f"'{symbol}' needs numbers, not {kind_of(value)}.")
    return value


def _numeric(symbol: str, operate: Binary) -> Binary:
    def apply(left: Any, right: Any) -> Any:
        try:
            result = operate(_number(symbol, left), _number(symbol, right))
        except ZeroDivisionError:
            raise template_failure(f"'{symbol}' divides by zero.") from None
        except OverflowError:
            raise template_failure(f"The result of '{symbol}' is too large.") from None
        if isinstance(result, int) and abs(result) >= MAX_NUMBER:
            raise template_failure(f"The result of '{symbol}' is too large: integers of up to 63 bits are allowed.")
        return result

    return apply


_add_numbers = _numeric("+", operator.add)


def _add(left: Any, right: Any) -> Any:
    if isinstance(left, str) and isinstance(right, str):
        return _joined(left, right, MAX_TEXT)
    if isinstance(left, list) and isinstance(right, list):
        return _joined(left, right, MAX_ITEMS)
    if isinstance(left, str) or isinstance(right, str):
        raise template_failure(f"'+' cannot join {kind_of(left)} and {kind_of(right)}.")
    return _add_numbers(left, right)


def _joined(left: Any, right: Any, limit: int) -> Any:
    if len(left) + len(right) > limit:
        raise template_failure(f"The result of '+' is too large: at most {limit} are allowed.")
    return left + right


def _compared(symbol: str, compare: Binary) -> Binary:
    def apply(left: Any, right: Any) -> bool:
        try:
            return bool(compare(left, right))
        except (TypeError, RecursionError):
            raise template_failure(f"'{symbol}' cannot compare {kind_of(left)} with {kind_of(right)}.") from None

    return apply


ARITHMETIC: dict[type[ast.operator], Binary] = {
    ast.Add: _add,
    ast.Sub: _numeric("-", operator.sub),
    ast.Mult: _numeric("*", operator.mul),
    ast.Div: _numeric("/", operator.truediv),
    ast.FloorDiv: _numeric("//", operator.floordiv),
    ast.Mod: _numeric("%", operator.mod),
}

COMPARISONS: dict[type[ast.cmpop], Binary] = {
    ast.Eq: _compared("==", operator.eq),
    ast.NotEq: _compared("!=", operator.ne),
    ast.Lt: _compared("<", operator.lt),
    ast.LtE: _compared("<=", operator.le),
    ast.Gt: _compared(">", operator.gt),
    ast.GtE: _compared(">=", operator.ge),
    ast.In: _compared("in", lambda item, container: item in container),
    ast.NotIn: _compared("not in", lambda item, container: item not in container),
}

"""Every error that Flowgauge raises on purpose, in one tree.

    FlowgaugeError
    ├─ UsageError          2    what was asked cannot be done as asked
    │  ├─ BadFile               a file with a list of problems, each with its place
    │  ├─ BadInputs             input values that do not fit their declarations
    │  ├─ BadParameter          a parameter of an operation that cannot be taken; carries its field
    │  ├─ NotFound              nothing of that name is stored
    │  ├─ Conflict              somebody else holds or changed it
    │  ├─ NotAllowed            a server does not let this caller do that
    │  └─ MissingExtra          an optional package is not installed
    ├─ NotMeasured         3    nothing to judge by
    │  ├─ StoreFailure          the database cannot be opened, read or written
    │  └─ NoAnswer              a server took too long, or cannot be reached
    ├─ BudgetExhausted     4    the money ran out
    └─ Failed              1    one attempt of a node failed; carries its Failure

An error says what happened, where, and what to do next. The exit code is the
command line's answer; the RPC code is the server's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

if TYPE_CHECKING:
    from collections.abc import Sequence

    from flowgauge.model.play import Failure, Usage
    from flowgauge.model.problem import Problem


class FlowgaugeError(Exception):
    """The root: `message` says what and where, `remedy` the next step."""

    exit_code: ClassVar[int] = 1
    rpc_code: ClassVar[int] = -32000

    def __init__(self, message: str, *, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".rstrip()


class UsageError(FlowgaugeError):
    """What was asked cannot be done as asked."""

    exit_code = 2
    rpc_code = -32602
    field: str = ""
    """Of the operation that was called: the parameter that it is about, such as configs[0].name."""


class BadFile(UsageError):
    """A file that cannot be used; lists every problem that was found."""

    def __init__(self, file: str, problems: Sequence[Problem]) -> None:
        self.file = file
        self.problems = tuple(problems)
        super().__init__("\n".join(f"{file}:{problem}" for problem in self.problems))


class BadInputs(UsageError):
    """Input values that do not fit; lists all of them."""

    def __init__(self, subject: str, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        lines = "\n".join(f"  {problem}" for problem in self.problems)
        super().__init__(f"The inputs do not fit {subject}:\n{lines}")


class BadParameter(UsageError):
    """A parameter of an operation that cannot be taken."""

    def __init__(self, field: str, message: str, *, remedy: str = "") -> None:
        super().__init__(message, remedy=remedy)
        self.field = field


class NotFound(UsageError):
    """Nothing of that name is stored."""

    rpc_code = -32004


class Conflict(UsageError):
    """Somebody else holds it, or it changed meanwhile."""

    rpc_code = -32009


class NotAllowed(UsageError):
    """No token, one that is not known or over, or one that may do less."""

    rpc_code = -32001


class MissingExtra(UsageError):
    """An optional package is not installed."""

    def __init__(self, what: str, extra: str) -> None:
        super().__init__(
            f"{what} needs a package that is not installed.",
            remedy=f"Run: pip install 'flowgauge[{extra}]'",
        )
        self.extra = extra


class NotMeasured(FlowgaugeError):
    """Nothing to judge by."""

    exit_code = 3
    rpc_code = -32003


class StoreFailure(NotMeasured):
    """The database cannot be opened, read or written."""

    rpc_code = -32010


class NoAnswer(NotMeasured):
    """The time of a call was up, or no server answers there."""

    rpc_code = -32008


class BudgetExhausted(FlowgaugeError):
    """The money ran out."""

    exit_code = 4
    rpc_code = -32005


class Failed(FlowgaugeError):
    """One attempt of a node (or of a call to a model) failed."""

    usage: Usage | None = None
    """What was used all the same, where the provider said so."""
    queue_ms: float = 0.0
    """How long a limiter held the call back before it failed."""

    def __init__(self, failure: Failure) -> None:
        super().__init__(failure.message)
        self.failure = failure

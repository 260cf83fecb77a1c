"""What the stages are handed: each a Protocol, so that a stage names what it needs and not who does it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Generator, Mapping
from typing import Any, Literal, Protocol, TypeVar

import msgspec

from flowgauge.model.exchange import ModelRequest, ModelResponse
from flowgauge.model.play import NodeRun, Play
from flowgauge.model.workflow import Json

Answer = TypeVar("Answer")


class Clock(Protocol):
    """Time, so that tests can hold it still."""

    def now_ms(self) -> int:
        """Milliseconds since 1970."""

    def tick_ms(self) -> float:
        """Milliseconds of a clock that only runs forward."""

    async def sleep(self, seconds: float) -> None:
        """Wait."""


class Gateway(Protocol):
    """Calls models. Raises errors.Failed; never retries by itself."""

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> ModelResponse:
        """One exchange. `on_text` is handed the pieces of a streamed answer."""

    def estimate_usd(self, request: ModelRequest) -> float | None:
        """What the request would cost at the least; None where the model has no known price."""

    @property
    def price_table(self) -> str:
        """Which prices were used: package, version and override file."""


class Tape(Protocol):
    """Stands around every exchange with the outside: lets it through, records it, or answers from a recording."""

    live: bool
    """It lets everything through: whoever asks often may go past it."""

    async def exchange(self, kind: str, request: Json, perform: Callable[[], Awaitable[Answer]], answer: type[Answer]) -> Answer:
        """`perform` is called unless the answer comes from a recording. Failures are recorded too."""


class Receipt(Protocol):
    """For a write. May be awaited, and by many; or asked now and then, as a future is."""

    def __await__(self) -> Generator[Any, None, None]:
        """Until it is on disk. Raises errors.StoreFailure where it never will be."""

    def done(self) -> bool:
        """It is on disk, or never will be."""

    def result(self) -> None:
        """Once it is done: raises what awaiting it would."""


class Journal(Protocol):
    """Durable writes in groups. Each returns at once, with a receipt.

    Writes become durable in the order in which they were asked for.
    """

    def play_started(self, play: Play) -> Receipt:
        """A play's first record; a play that is there already is taken over."""

    def node_finished(self, play_sid: str, run: NodeRun) -> Receipt:
        """One attempt; the same attempt written twice is the same row."""

    def play_finished(self, play: Play) -> Receipt:
        """A play's end."""


class Permits(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What python code may touch beyond the interpreter and its own scratch folder."""

    read: tuple[str, ...] = ()
    write: tuple[str, ...] = ()
    network: bool = False


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """A call of one function in a piece of python code, with its limits."""

    code: str
    function: str = "run"
    arguments: Mapping[str, Json] = {}
    timeout_s: float = 60.0
    memory_mb: int = 1024
    permits: Permits = Permits()


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a job. `failure` is None on success."""

    value: Json = None
    stdout: str = ""
    stderr: str = ""
    failure: Literal["code_error", "timeout", "killed", "invalid_output", "isolation"] | None = None
    message: str = ""
    traceback: str = ""
    duration_ms: float = 0.0


class Sandbox(Protocol):
    """Runs python code in worker processes that live on."""

    @property
    def tier(self) -> Literal["landlock", "process"]:
        """What stands between the code and the machine."""

    async def call(self, job: Job) -> Outcome:
        """Never raises for what the code does: a crash, a hang, a flood are outcomes."""


class Operations(Protocol):
    """The product's own operations by name, for `operation` nodes."""

    async def call(self, name: str, arguments: Mapping[str, Json]) -> Any:
        """Raises errors.NotFound for an unknown name."""

"""Nouns to rows and back.

Every text is redacted on its way in. A row is a tuple in the order of its
`*_COLUMNS`; a JSON value that is its field's default is NULL. What JSON cannot
hold is refused here, before it is queued, with the place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec
from sqlalchemy import RowMapping

from flowgauge.errors import StoreFailure
from flowgauge.model.bench import Trial
from flowgauge.model.play import FINISHED, Failure, NodeRun, Play, Step
from flowgauge.model.redaction import SHORTEST, Redact
from flowgauge.model.workflow import Example, Json
from flowgauge.store.plain import escape, whole
from flowgauge.store.schema import trials

PLAY_COLUMNS: Final = (*Play.__struct_fields__, "finished_at")
NODE_COLUMNS: Final = ("play_sid", *NodeRun.__struct_fields__)
TRIAL_COLUMNS: Final = tuple(str(column.name) for column in trials.c if column.name != "seq")
Row = tuple[Any, ...]

_UNWRITABLE = (TypeError, ValueError, OverflowError, RecursionError)


class RowEncoder:
    """Makes rows. Safe to use from many threads: msgspec's encoders keep no state between calls."""

    def __init__(self, redact: Redact) -> None:
        self._redact = redact
        self._encode = msgspec.json.Encoder().encode

    def play(self, play: Play, finished_at: int | None) -> Row:
        """In the order of PLAY_COLUMNS."""
        json = self.json
        return (
            play.sid,
            play.workflow_sid,
            play.version_sid,
            self.text(play.name) if play.name else "",
            play.status,
            json(play.inputs, play.sid) if play.inputs else None,
            json(play.config, play.sid) if play.config else None,
            json(play.pins, play.sid) if play.pins else None,
            None if play.output is None else json(play.output, play.sid),
            play.started_at,
            play.duration_ms,
            play.retries,
            play.tokens_prompt,
            play.tokens_completion,
            play.cost_usd,
            play.cost_source,
            escape(play.price_table),
            play.isolation,
            None if play.error is None else json(play.error, play.sid),
            json(play.warnings, play.sid) if play.warnings else None,
            play.owner_sid,
            play.resumed,
            finished_at if play.status in FINISHED else None,
        )

    def node_run(self, play_sid: str, run: NodeRun) -> Row:
        """In the order of NODE_COLUMNS."""
        json = self.json
        return (
            play_sid,
            escape(run.node_id),
            run.attempt,
            run.status,
            run.started_at,
            run.duration_ms,
            run.queue_ms,
            run.backoff_ms,
            run.first_token_ms,
            escape(run.model) if run.model else "",
            run.tokens_prompt,
            run.tokens_completion,
            run.cost_usd,
            run.cost_source,
            None if run.output is None else json(run.output, play_sid),
            None if run.error is None else json(run.error, play_sid),
            json(run.steps, play_sid) if run.steps else None,
        )

    def trial(self, bench_uid: str, trial: Trial) -> Row:
        """In the order of TRIAL_COLUMNS. Outputs of nodes are left to the play, where there is one."""
        answer, run_id, noun = trial.answer, trial.run_id, self.noun
        return (
            bench_uid,
            run_id,
            trial.position,
            escape(trial.config),
            escape(trial.case),
            trial.repetition,
            answer.status,
            None if trial.passed is None else int(trial.passed),
            trial.failure_category,
            answer.started_at,
            answer.duration_ms,
            answer.queue_ms,
            answer.backoff_ms,
            trial.score_ms,
            answer.first_token_ms,
            answer.retries,
            answer.tokens_prompt,
            answer.tokens_completion,
            answer.cost_usd,
            answer.cost_source,
            escape(answer.model) if answer.model else "",
            answer.repeated,
            int(answer.cached),
            answer.play_sid,
            noun(trial.scores, run_id) if trial.scores else None,
            noun(answer.scores, run_id) if answer.scores else None,
            noun(trial.checks, run_id) if trial.checks else None,
            None if answer.error is None else noun(answer.error, run_id),
            None if answer.output is None else self.json(answer.output, run_id),
            self.json(answer.nodes, run_id) if answer.nodes and not answer.play_sid else None,
        )

    def text(self, text: str) -> str:
        """Plain text, redacted and escaped, for a row that is handed to the driver."""
        return escape(self._redact(text))

    def redacted(self, text: str) -> str:
        """Plain text for a column that escapes by itself."""
        return self._redact(text)

    def hides(self, text: str) -> bool:
        """Whether a secret stands in it."""
        return self._redact(text) != text

    def json(self, value: Json, subject: str) -> str:
        """JSON text, redacted. It stays JSON also where a secret was a bare number."""
        text = self._encoded(value, subject)
        if len(text) < SHORTEST or (redacted := self._redact(text)) is text:
            return text
        if redacted == text or _is_json(redacted):
            return redacted
        return self._encoded(_map_leaves(msgspec.to_builtins(value), self._redact), subject)

    def noun(self, value: Any, subject: str) -> str:
        """JSON text of a typed value: only its strings are redacted, so that its numbers can be read again as numbers."""
        text = self._encoded(value, subject)
        if len(text) < SHORTEST or self._redact(text) == text:
            return text
        return self._encoded(_map_leaves(msgspec.to_builtins(value), self._redact, numbers=False), subject)

    def _encoded(self, value: Json, subject: str) -> str:
        try:
            return self._encode(value).decode()
        except UnicodeEncodeError:
            return self._encode(_map_leaves(msgspec.to_builtins(value), whole)).decode()
        except _UNWRITABLE as error:
            raise StoreFailure(
                f"A value of {subject} cannot be stored as JSON: {error}.", remedy="Answer with text, numbers, lists and objects only."
            ) from error


def _is_json(text: str) -> bool:
    try:
        msgspec.json.decode(text)
    except msgspec.DecodeError:
        return False
    return True


def _map_leaves(value: Json, change: Callable[[str], str], *, numbers: bool = True) -> Json:
    """The same value with every string changed, and every number whose digits would be."""
    if isinstance(value, str):
        return change(value)
    if isinstance(value, Mapping):
        return {change(str(key)): _map_leaves(item, change, numbers=numbers) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_map_leaves(item, change, numbers=numbers) for item in value]
    if value is None or isinstance(value, bool) or not numbers:
        return value
    written = str(value)
    return value if (changed := change(written)) == written else changed


_failure = msgspec.json.Decoder(Failure | None).decode
_steps = msgspec.json.Decoder(tuple[Step, ...]).decode
_strings = msgspec.json.Decoder(tuple[str, ...]).decode
_any = msgspec.json.Decoder().decode

_READERS: Final[dict[str, Callable[[str], Any]]] = {
    "inputs": _any, "config": _any, "pins": _any, "output": _any, "input_values": _any,
    "error": _failure, "warnings": _strings, "steps": _steps,
}  # fmt: skip


def _fields(row: RowMapping, names: tuple[str, ...]) -> dict[str, Any]:
    """What the row holds of a noun's fields; a JSON default is left to the noun. An absent column is one that was not asked for."""
    found: dict[str, Any] = {}
    for name in names:
        if name not in row:
            continue
        value = row[name]
        reader = _READERS.get(name)
        if reader is None:
            found[name] = value
        elif value is not None:
            found[name] = reader(value)
    return found


def read_play(row: RowMapping) -> Play:
    """A play as it was written, but for what was redacted."""
    return Play(**_fields(row, Play.__struct_fields__))


def read_node_run(row: RowMapping) -> NodeRun:
    """A node run as it was written, but for what was redacted."""
    return NodeRun(**_fields(row, NodeRun.__struct_fields__))


def read_example(row: RowMapping) -> Example:
    """An example as it was written, but for what was redacted."""
    return Example(**_fields(row, Example.__struct_fields__))

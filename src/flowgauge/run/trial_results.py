"""Answers and trials for what went wrong: a failure is a result, never an exception that ends a bench.

Pure: an error or a reason in, a value out.
"""

from __future__ import annotations

import traceback

from flowgauge.errors import Failed
from flowgauge.model.bench import Answer, PlannedTrial, Trial, TrialStatus
from flowgauge.model.play import Failure
from flowgauge.model.workflow import FailureKind

DETAIL_CHARS = 4000


def failed_answer(failure: Failure, *, started_at: int = 0, duration_ms: float = 0.0, queue_ms: float = 0.0, repeated: int = 0) -> Answer:
    """An answer that says only why there is none. What the call cost before it failed is not known."""
    status: TrialStatus = "timeout" if failure.kind == "timeout" else "failed"
    return Answer(
        status=status,
        error=failure,
        started_at=started_at,
        duration_ms=duration_ms,
        queue_ms=queue_ms,
        cost_usd=None,
        cost_source="unpriced",
        repeated=repeated,
    )


def failure_of(error: BaseException, kind: FailureKind = "internal") -> Failure:
    """Why a call failed: what it says itself, else its error with the tail of the traceback."""
    if isinstance(error, Failed):
        return error.failure
    return Failure(kind=kind, message=f"{type(error).__name__}: {error}".rstrip(": "), detail=tail(error))


def tail(error: BaseException) -> str:
    """The end of a traceback."""
    return "".join(traceback.format_exception(error))[-DETAIL_CHARS:]


def unanswered(planned: PlannedTrial, failure: Failure, *, repeated: int = 0) -> Trial:
    """A trial whose target never answered."""
    return trial_of(planned, failed_answer(failure, repeated=repeated))


def trial_of(planned: PlannedTrial, answer: Answer) -> Trial:
    """A trial that was not checked."""
    return Trial(
        run_id=planned.run_id,
        position=planned.position,
        config=planned.config,
        case=planned.case,
        repetition=planned.repetition,
        answer=answer,
        failure_category=answer.error.kind if answer.error is not None else "",
        scores=answer.scores,
    )

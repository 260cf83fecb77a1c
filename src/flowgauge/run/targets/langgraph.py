"""`langgraph:package.module:graph`: a LangGraph graph, or a function that makes one.

It is invoked with the case's inputs as its state, the configuration's config as
`configurable`, and the run id as thread id. Usage is what its model calls say
(usage_metadata), seen by a callback; where that sees none, what the messages
that came back say. The output is the final state, messages as plain objects.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec

from flowgauge.errors import Failed, MissingExtra, UsageError
from flowgauge.model.bench import Answer, Case, Configuration, PlannedTrial
from flowgauge.model.play import Failure
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import fail
from flowgauge.run.targets.caller import Price
from flowgauge.run.targets.importing import find_object
from flowgauge.run.targets.reported import Report, Timing, answer_of_report, config_of
from flowgauge.run.trial_results import failed_answer, tail


class LangGraphTarget:
    """`TargetCaller` of a graph."""

    patience_s = 0.0

    def __init__(self, reference: str, *, price: Price | None = None) -> None:
        try:
            import langgraph.graph  # noqa: F401 - is it there?
        except ImportError as error:
            raise MissingExtra("A langgraph target", "langgraph") from error
        self._reference = reference
        self._graph = _compiled(find_object(reference), reference)
        self._price = price

    async def call(self, configuration: Configuration, case: Case, planned: PlannedTrial) -> Answer:
        """Invoke it once."""
        watch = _watch()
        config = {
            "configurable": {"thread_id": planned.run_id, **config_of(configuration.workflow_overrides)},
            "callbacks": [watch],
            "metadata": {"flowgauge_run_id": planned.run_id},
        }
        started_at, begun = time.time_ns() // 1_000_000, time.perf_counter()
        watch.begun = begun
        try:
            state = await self._graph.ainvoke(case.inputs, config=config)
            timing = Timing(started_at, _since(begun))
            return answer_of_report(_report(state, case.inputs, watch, self._reference), timing, self._price)
        except Failed as error:
            failure = error.failure
        except Exception as error:  # noqa: BLE001 - whatever the graph raises is this trial's failure
            failure = Failure(kind="code_error", message=f"{self._reference} raised {type(error).__name__}: {error}", detail=tail(error))
        return failed_answer(failure, started_at=started_at, duration_ms=_since(begun))

    async def close(self) -> None:
        """The graph is the user's."""


def _compiled(found: Any, reference: str) -> Any:
    if not hasattr(found, "ainvoke") and not hasattr(found, "compile") and callable(found):
        found = found()
        if inspect.isawaitable(found):
            raise UsageError(f"{reference} is a coroutine function.", remedy="Name a graph, or a plain function that makes one.")
    if not hasattr(found, "ainvoke") and hasattr(found, "compile"):
        found = found.compile()
    if not hasattr(found, "ainvoke"):
        raise UsageError(f"{reference} is no graph: it has no ainvoke.", remedy="Name a compiled LangGraph graph.")
    return found


def _watch() -> Any:
    """A callback of the graph's model calls: their usage, by model, and when the first token came."""
    from langchain_core.callbacks import UsageMetadataCallbackHandler

    class Watch(UsageMetadataCallbackHandler):
        begun = 0.0
        first_token_ms: float | None = None

        def on_llm_new_token(self, *_args: Any, **_kwargs: Any) -> None:
            if self.first_token_ms is None:
                self.first_token_ms = _since(self.begun)

    return Watch()


def _report(state: Any, inputs: Mapping[str, Json], watch: Any, what: str) -> Report:
    used: dict[str, Mapping[str, Any]] = watch.usage_metadata
    usages, models = list(used.values()), list(used)
    if not usages:
        messages = _answered(state, inputs)
        usages = [message.usage_metadata for message in messages if message.usage_metadata]
        models = [name for message in messages if (name := message.response_metadata.get("model_name"))]
    return Report(
        output=_plain(state, what),
        tokens_prompt=_total(usages, "input_tokens"),
        tokens_completion=_total(usages, "output_tokens"),
        model=", ".join(dict.fromkeys(models)),
        first_token_ms=watch.first_token_ms,
    )


def _answered(state: Any, inputs: Mapping[str, Json]) -> list[Any]:
    """The models' messages in the state, without those that were handed in."""
    from langchain_core.messages import AIMessage

    messages = state.get("messages", ()) if isinstance(state, Mapping) else ()
    given = inputs.get("messages", ())
    known = len(given) if isinstance(given, list | tuple) else 0
    return [message for message in messages[known:] if isinstance(message, AIMessage)]


def _total(usages: Iterable[Mapping[str, Any]], name: str) -> int | None:
    counts = [int(usage[name]) for usage in usages if usage.get(name) is not None]
    return sum(counts) if counts else None


def _plain(state: Any, what: str) -> Json:
    try:
        return msgspec.json.decode(msgspec.json.encode(state, enc_hook=_encodable))
    except (TypeError, ValueError, RecursionError) as error:
        raise fail("invalid_output", f"{what} ended in a state that JSON cannot hold: {error}.") from error


def _encodable(value: Any) -> Any:
    from langchain_core.messages import BaseMessage

    if isinstance(value, BaseMessage):
        calls = getattr(value, "tool_calls", None)
        return {"type": value.type, "content": value.content, **({"tool_calls": calls} if calls else {})}
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    raise TypeError(f"it holds a {type(value).__name__}")


def _since(begun: float) -> float:
    return (time.perf_counter() - begun) * 1000.0

"""Graphs for langgraph targets; their models answer from a list."""

from __future__ import annotations

from typing import Any, TypedDict

from langchain_core.language_models import BaseChatModel, GenericFakeChatModel
from langchain_core.messages import AIMessage, BaseMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, MessagesState, StateGraph

ASKED = {"no": "graph"}


class CountingModel(BaseChatModel):
    """Says one thing, and what it used."""

    @property
    def _llm_type(self) -> str:
        return "counting"

    def _generate(self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **kwargs: Any) -> ChatResult:
        said = AIMessage(
            content="High.",
            usage_metadata={"input_tokens": 11, "output_tokens": 2, "total_tokens": 13},
            response_metadata={"model_name": "known"},
        )
        return ChatResult(generations=[ChatGeneration(message=said)])


async def _ask(state: MessagesState) -> dict[str, Any]:
    return {"messages": [await CountingModel().ainvoke(state["messages"])]}


async def _quietly(_state: MessagesState) -> dict[str, Any]:
    used = {"input_tokens": 5, "output_tokens": 1, "total_tokens": 6}
    return {"messages": [AIMessage(content="High.", usage_metadata=used, response_metadata={"model_name": "known"})]}


async def _stream(state: MessagesState) -> dict[str, Any]:
    model = GenericFakeChatModel(messages=iter([AIMessage(content="Quite high.")]))
    pieces = [piece async for piece in model.astream(state["messages"])]
    return {"messages": [AIMessage(content="".join(str(piece.content) for piece in pieces))]}


async def _break(_state: MessagesState) -> dict[str, Any]:
    raise ValueError("the tide is out")


class Seen(TypedDict, total=False):
    seen: dict[str, Any]


async def _look(_state: Seen, config: RunnableConfig) -> dict[str, Any]:
    return {"seen": {name: config["configurable"][name] for name in ("tone", "thread_id")}}


async def _keep_a_program(_state: Seen) -> dict[str, Any]:
    return {"seen": {"program": print}}


def _graph(step: Any, state: Any = MessagesState) -> Any:
    builder = StateGraph(state)
    builder.add_node("step", step)
    builder.add_edge(START, "step")
    builder.add_edge("step", END)
    return builder


def made() -> Any:
    return compiled


uncompiled = _graph(_ask)
compiled = _graph(_ask).compile()
quiet = _graph(_quietly).compile()
streaming = _graph(_stream).compile()
broken = _graph(_break).compile()
configured = _graph(_look, Seen).compile()
unwritable = _graph(_keep_a_program, Seen).compile()

"""Calls to models: within the budgets, through the tape, each a step, all summed.

In: a request and the context of the node that asks. Out: the answer. A call
that fails is counted too, with what the provider says it used.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import msgspec

from flowgauge.model.exchange import ModelRequest, ModelResponse
from flowgauge.model.play import Usage
from flowgauge.model.workflow import Json
from flowgauge.nodes.context import Context, Services, StepUnderWay
from flowgauge.run.budget import Budget

_PLACE = ("base_url", "api_key_env", "timeout_s")
"""Where and how long: no part of what was asked, so no part of a recording's key."""
SHOWN_CHARS = 4000
"""So much of a text is kept in a step; the node's output holds the whole answer."""

OnText = Callable[[str, str], None]
"""(node id, piece of a streamed answer)"""


class ModelCalls:
    """The calls of one play."""

    __slots__ = ("_budgets", "_on_text", "_services", "usage", "warnings")

    def __init__(self, services: Services, usage: Usage, on_text: OnText | None) -> None:
        self._services = services
        self._on_text = on_text
        self._budgets: dict[str, Budget] = {}
        self.usage = usage
        self.warnings: dict[str, None] = {}

    def limit(self, prefix: str, budget_usd: float, spent_usd: float) -> None:
        """Bound what nodes under a path may spend; the empty prefix is the whole play."""
        if prefix not in self._budgets:
            self._budgets[prefix] = Budget(budget_usd, spent_usd)

    async def complete(self, request: ModelRequest, context: Context) -> ModelResponse:
        """One call."""
        step = context.step("model", request.name, _shown(request))
        if not self._budgets:
            return await self._call(request, context.node_id, step)
        budgets = [budget for prefix, budget in self._budgets.items() if context.node_id.startswith(prefix)]
        estimate_usd = self._estimate(request) if budgets else 0.0
        for budget in budgets:
            budget.check(estimate_usd)
        for budget in budgets:
            budget.reserve(estimate_usd)
        try:
            return await self._call(request, context.node_id, step)
        finally:
            for budget in budgets:
                budget.settle(estimate_usd, step.usage.cost_usd)

    async def _call(self, request: ModelRequest, node_id: str, step: StepUnderWay) -> ModelResponse:
        try:
            with step:
                response = await self._exchange(request, node_id)
                step.usage = response.usage
                step.duration_ms, step.queue_ms, step.first_token_ms = response.duration_ms, response.queue_ms, response.first_token_ms
                step.response = {"text": cut(response.text), "tool_calls": response.tool_calls, "finish": response.finish}
        finally:
            self.usage = self.usage.plus(step.usage)
        return response

    def _exchange(self, request: ModelRequest, node_id: str) -> Awaitable[ModelResponse]:
        tell = self._on_text
        on_text = (lambda text: tell(node_id, text)) if tell is not None and request.stream else None
        gateway, tape = self._services.gateway, self._services.tape
        if tape.live:
            return gateway.complete(request, on_text=on_text)
        return tape.exchange("model", recording_key(request), lambda: gateway.complete(request, on_text=on_text), ModelResponse)

    def _estimate(self, request: ModelRequest) -> float:
        estimate_usd = self._services.gateway.estimate_usd(request)
        if estimate_usd is None:
            self.warnings[f"{request.name} has no known price: budget_usd does not bound its calls."] = None
        return estimate_usd or 0.0


def recording_key(request: ModelRequest) -> Json:
    """What a model call is known by on a tape."""
    values = msgspec.to_builtins(request)
    return {name: value for name, value in values.items() if name not in _PLACE}


def _shown(request: ModelRequest) -> Json:
    """What is worth keeping of a request: the newest message, the system's, and how many there were."""
    first, last = request.messages[0], request.messages[-1]
    shown: dict[str, Json] = {"messages": len(request.messages), "last": {"role": last.role, "text": cut(last.text)}}
    if last.images:
        shown["last"]["images"] = len(last.images)
    if len(request.messages) <= 2 and first.role == "system":
        shown["system"] = cut(first.text)
    return shown


def cut(text: str) -> str:
    """The head and the tail of a long text, and how much is left out between them."""
    if len(text) <= SHOWN_CHARS:
        return text
    half = SHOWN_CHARS // 2
    return f"{text[:half]}\n… {len(text) - 2 * half} characters …\n{text[-half:]}"

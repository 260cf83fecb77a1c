"""Gates: what a policy makes of a comparison."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Annotated

from msgspec import Meta

from flowgauge.app.comparing import compare_stored, gate_stored
from flowgauge.app.operations.benchmarks import SideRef
from flowgauge.app.operations.operation import Operation, Params, about
from flowgauge.app.policies import policy_of
from flowgauge.model.verdict import GateResult
from flowgauge.model.workflow import Json

if TYPE_CHECKING:
    from flowgauge.app.host import Host
    from flowgauge.model.gate import Policy
    from flowgauge.store.store import Store


class GateRun(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What is judged, against what, by which policy."""

    candidate: SideRef
    baseline: SideRef
    policy: Annotated[dict[str, Json], Meta(description="What a gate file holds: rule, tolerance, metrics, limits, …")] = {}
    policy_name: Annotated[str, Meta(max_length=200, description="How the result calls the policy.")] = ""


async def gate_run(host: Host, params: GateRun) -> GateResult:
    """A failed gate is a result, not an error."""
    with about("policy"):
        policy = policy_of(params.policy)
    with about("candidate"):
        return await asyncio.to_thread(_gated, host.store, params, policy)


def _gated(store: Store, params: GateRun, policy: Policy) -> GateResult:
    compared = compare_stored(store, params.candidate, params.baseline, policy)
    return gate_stored(store, compared, policy, policy_name=params.policy_name)


ROWS = (
    Operation(
        name="gate_run",
        scope="read",
        params=GateRun,
        result=GateResult,
        run=gate_run,
        summary="Judge a benchmark against a baseline by a policy: passed, failed or not measured.",
    ),
)

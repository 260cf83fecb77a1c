"""The review of a change in the repository that the server was started in.

It runs that repository's lint and tests, so only an admin may ask for it; which
commands run is the settings file's word, never a caller's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import msgspec
from msgspec import Meta

from flowgauge.app.agents import AgentBaselines
from flowgauge.app.data_folder import data_folder
from flowgauge.app.operations.operation import Operation, Params, about
from flowgauge.app.policies import policy_of
from flowgauge.app.review import ReviewRequest, review, settings_for
from flowgauge.app.review_baselines import Asked, Gated, agent_named, upgrade_named
from flowgauge.errors import BadParameter, Conflict
from flowgauge.model.workflow import Json
from flowgauge.registry.review.decision import Review
from flowgauge.registry.review.settings import Left
from flowgauge.registry.stopping import in_thread
from flowgauge.store.filelock import locked

if TYPE_CHECKING:
    from pathlib import Path

    from flowgauge.app.host import Host

_LOCK = ".review.lock"
Revision = Annotated[str, Meta(max_length=250)]
Name = Annotated[str, Meta(max_length=500)]


class ReviewRun(Params, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Which change, held against what."""

    base: Annotated[Revision, Meta(min_length=1, description="What it is to be merged into: a branch, a tag or a commit.")]
    head: Annotated[Revision, Meta(description="What is reviewed. Empty: the server's work tree as it is.")] = ""
    candidate: Annotated[Name, Meta(description="Which benchmark, where a baseline is given.")] = "latest"
    baseline: Annotated[Name, Meta(description="What the benchmark is held against. Empty: no gate.")] = ""
    policy: Annotated[dict[str, Json], Meta(description="What a gate file holds.")] = {}
    agents: Annotated[tuple[Name, ...], Meta(max_length=100, description="Agents to validate, each PROMPT/FLOW.")] = ()
    old_version: Annotated[Name, Meta(description="With new_version: the snapshots of an upgrade.")] = ""
    new_version: Annotated[Name, Meta(description="The version that would take its place.")] = ""
    without: Annotated[tuple[Left, ...], Meta(description="Steps that are left out: lint, baseline.")] = ()


async def review_run(host: Host, params: ReviewRun) -> Review:
    """May take as long as the tests do. A change that is rejected is a result, not an error."""
    data = data_folder(host.store.place)
    settings = settings_for(data)
    if params.without:
        settings = msgspec.structs.replace(settings, without=params.without)
    request = ReviewRequest(base=params.base, head=params.head or None, settings=settings, baselines=_asked(params))
    return await in_thread(lambda: _reviewed(host, data, request))


def _reviewed(host: Host, data: Path, request: ReviewRequest) -> Review:
    """One at a time: two test runs in one work tree would be in each other's way."""
    data.mkdir(parents=True, exist_ok=True)
    with locked(data / _LOCK) as had:
        if not had:
            raise Conflict("Another review is under way.", remedy="Ask again when it has ended.")
        return review(host.store, data, request, AgentBaselines(host.store, data))


def _asked(params: ReviewRun) -> Asked:
    with about("policy"):
        policy = policy_of(params.policy)
    with about("agents"):
        agents = tuple(map(agent_named, params.agents))
    if bool(params.old_version) != bool(params.new_version):
        missing = "new_version" if params.old_version else "old_version"
        raise BadParameter(missing, "An upgrade needs both versions.", remedy=f"Give {missing}, too.")
    gate = Gated(candidate=params.candidate, baseline=params.baseline, policy=policy) if params.baseline else None
    with about("old_version"):
        upgrade = upgrade_named(params.old_version, params.new_version) if params.old_version else None
    return Asked(gate=gate, agents=agents, upgrade=upgrade)


ROWS = (
    Operation(
        name="review_run",
        scope="admin",
        params=ReviewRun,
        result=Review,
        run=review_run,
        summary="Review a change of the server's repository: size, lint, tests and baselines; approve, steward, reject or not measured.",
    ),
)

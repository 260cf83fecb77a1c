"""A stored bench taken up again: resumed, its errors retried, or extended.

What is stored was measured under one definition. More may be added to it;
nothing that was measured may come to mean something else.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, TypeVar

import msgspec

from flowgauge.app.bench_pins import joined
from flowgauge.errors import Conflict, UsageError
from flowgauge.model.bench import Bench, BenchRecord, Case, Configuration
from flowgauge.plan.ids import definition_hash

if TYPE_CHECKING:
    from flowgauge.app.bench import BenchRequest

Named = TypeVar("Named", Configuration, Case)
_WAYS = ("resume", "retry_errors", "extend", "bench_id")
_DEFINING = ("workflow", "target", "version", "configs", "new")
_LAID_OVER = ("runs", "filters", "limit", "tags", "seed", "cache", "timeout_s", "name")


def check_request(request: BenchRequest) -> None:
    """At most one way to name a bench; and what is stored is not defined anew. Raises UsageError."""
    ways = [_spoken(name) for name in _WAYS if getattr(request, name)]
    if len(ways) > 1:
        raise UsageError(f"{' and '.join(ways)} cannot stand together.", remedy="Give one of them.")
    if not (request.resume or request.retry_errors):
        return
    defining = [_spoken(name) for name in _DEFINING if getattr(request, name)]
    defining += [_spoken(name) for name in _LAID_OVER if request.options.get(name) not in (None, (), {}, [])]
    if defining:
        remedy = f"Leave out {', '.join(defining)}; --budget and --max-concurrency may be given. To add to a bench, use --extend."
        raise UsageError(f"{ways[0]} takes a bench as it was defined.", remedy=remedy)


def _spoken(name: str) -> str:
    return name.upper() if name == "workflow" else f"--{name.rstrip('s') if name in ('filters', 'tags') else name.replace('_', '-')}"


def check_as_given(record: BenchRecord) -> None:
    """What the store hid of a definition cannot be run from there. Raises Conflict."""
    if definition_hash(record.definition) != record.definition_hash:
        raise Conflict(
            f"The stored definition of the bench {record.bench_id} was redacted: it held a secret, and the target would be given the mark.",
            remedy="Run the command that defined it again: it goes on with what is left.",
        )


def taken_up(bench: Bench, request: BenchRequest) -> Bench:
    """As it was defined, with this session's money and number of slots."""
    budget_usd, slots = request.options.get("budget_usd"), request.options.get("max_concurrency")
    return msgspec.structs.replace(bench, budget_usd=budget_usd or bench.budget_usd, max_concurrent_runs=slots or bench.max_concurrent_runs)


def extended(old: Bench, new: Bench, bench_id: str) -> Bench:
    """Everything of both. Conflict where something that was measured would change its meaning."""
    old, new = joined(old, new)
    _check_same(old, new, bench_id)
    return msgspec.structs.replace(
        new,
        name=old.name,
        configs=_union(old.configs, new.configs),
        cases=_union(old.cases, new.cases),
        runs=max(old.runs, new.runs),
        limit=None,
        tags={**old.tags, **new.tags},
    )


def _check_same(old: Bench, new: Bench, bench_id: str) -> None:
    """Two benches are the same but for their configurations and cases where they hash alike without them."""
    changed = [name for name in ("target", "checks", "seed", "timeout_s", "cache") if _alone(old, name) != _alone(new, name)]
    changed += [f"configuration '{name}'" for name in _differing(old.configs, new.configs, "configs", new)]
    changed += [f"case '{name}'" for name in _differing(old.cases, new.cases, "cases", new)]
    if changed:
        raise Conflict(
            f"The bench {bench_id} was measured with other values of: {', '.join(changed)}.",
            remedy="Give what changed another name, or begin another bench with --new.",
        )


def _alone(bench: Bench, name: str) -> str:
    bare = msgspec.structs.replace(bench, configs=(), cases=(), limit=None, checks=(), seed=0, timeout_s=None, cache=False)
    if name != "target":
        bare = msgspec.structs.replace(bare, target=msgspec.structs.replace(bare.target, content="same"), **{name: getattr(bench, name)})
    return definition_hash(bare)


def _differing(old: Iterable[Named], new: Iterable[Named], field: str, bench: Bench) -> list[str]:
    bare = msgspec.structs.replace(bench, configs=(), cases=())
    known = {one.name: one for one in old}

    def digest(one: Named) -> str:
        return definition_hash(msgspec.structs.replace(bare, **{field: (one,)}))

    return [one.name for one in new if one.name in known and one != known[one.name] and digest(one) != digest(known[one.name])]


def _union(old: Iterable[Named], new: Iterable[Named]) -> tuple[Named, ...]:
    """In the old order, what is new behind; where both have one, the new (it may have more runs or other tags)."""
    return tuple({**{one.name: one for one in old}, **{one.name: one for one in new}}.values())

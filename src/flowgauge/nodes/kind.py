"""What a kind of node declares: its fields, its check, its run.

A kind is one file in this folder that ends with `KIND = Kind(…)`, and one row
in the table `NODES`. The schema of workflow files and the engine both read it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import msgspec

from flowgauge.model.workflow import FailureKind, Json, Node

if TYPE_CHECKING:
    from flowgauge.nodes.context import Context

PASSING: frozenset[FailureKind] = frozenset({"timeout", "rate_limited", "provider_error", "connection"})
"""Failures of the outside that may be gone a moment later."""


class Complaint(msgspec.Struct, frozen=True):
    """What a kind finds wrong with a node: which field, what, and the remedy."""

    field: str
    message: str
    remedy: str = ""


Run = Callable[[Any, Mapping[str, Json], "Context"], Awaitable[Json]]
"""(node, its template fields rendered, context) → output. Raises errors.Failed."""


def no_complaint(_node: Any) -> Iterable[Complaint]:
    """For kinds whose fields say it all."""
    return ()


class Kind(msgspec.Struct, frozen=True, kw_only=True):
    """One row of the table."""

    struct: type[Node]
    run: Run
    summary: str
    """One line for the docs and the schema."""
    templates: tuple[str, ...] = ()
    """Fields (as the file spells them) whose strings are templates; they are rendered before `run`."""
    conditions: tuple[str, ...] = ()
    """Fields whose strings, at any depth under a key `when`, are conditions."""
    outputs: tuple[str, ...] | None = None
    """What templates may name of the output; None where that is up to the user's code."""
    check: Callable[[Any], Iterable[Complaint]] = no_complaint
    retry_on: frozenset[FailureKind] = PASSING
    """Failures that another try may mend, where the node does not say."""
    calls_out: bool = False
    """Is `config.max_retries` its number of further tries when it has no `retry` of its own?"""
    body: str = ""
    """The field that holds another node, written without an id."""

"""What a bench is to call: a workflow file or stored workflow, or anything else that `--target` names."""

from __future__ import annotations

import importlib.util
import inspect
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import msgspec

from flowgauge.app.workflows import Saved, find_target
from flowgauge.errors import UsageError
from flowgauge.model.bench import Target
from flowgauge.model.ids import content_hash
from flowgauge.model.workflow import Workflow
from flowgauge.nodes.codec import read_workflow

if TYPE_CHECKING:
    from flowgauge.store.store import Store

KINDS = ("python", "command", "langgraph")


class Aim(msgspec.Struct, frozen=True, kw_only=True):
    """The target and, of a workflow, its definition and where it is stored."""

    target: Target
    workflow: Workflow | None = None
    workflow_sid: str = ""
    version_sid: str = ""
    warnings: tuple[str, ...] = ()


def aim(store: Store, workflow: str, target: str, version: str = "") -> Aim:
    """From the command line: WORKFLOW or --target, exactly one of them."""
    if bool(workflow) == bool(target):
        raise UsageError("A bench needs one target.", remedy="Give a workflow file, the name of a stored workflow, or --target.")
    return aim_at_workflow(find_target(store, workflow, version)) if workflow else Aim(target=read_target(target))


def aim_at_workflow(saved: Saved) -> Aim:
    """A stored version."""
    name, version = saved.record.name, saved.version
    return Aim(
        target=Target(kind="workflow", reference=version.sid, name=name, content=version.hash),
        workflow=read_workflow(version.content),
        workflow_sid=saved.record.sid,
        version_sid=version.sid,
        warnings=saved.warnings,
    )


def read_target(text: str) -> Target:
    """python:pkg.mod:fn, langgraph:pkg.mod:graph, command:./agent {{ question }}, http://…."""
    if text.startswith(("http://", "https://")):
        return Target(kind="http", reference=text, name=urlsplit(text).hostname or "http", content=text)
    kind, colon, reference = text.partition(":")
    if kind not in KINDS or not colon or not reference.strip():
        raise UsageError(f"'{text}' is no target.", remedy="Write python:pkg.mod:fn, command:…, langgraph:pkg.mod:graph or http://….")
    if kind == "command":
        return Target(kind="command", reference=reference, name=reference.split()[0].rsplit("/", 1)[-1], content=reference)
    name = reference.rsplit(":", 1)[-1]
    content = f"{reference}\n{_source_hash(reference)}"
    return Target(kind="python" if kind == "python" else "langgraph", reference=reference, name=name, content=content)


def aim_at_function(function: Callable[..., Any]) -> Aim:
    """A function that was handed over as it is; its source makes it the same or another."""
    reference = f"{function.__module__}:{getattr(function, '__qualname__', type(function).__qualname__)}"
    try:
        content = inspect.getsource(function)
    except (OSError, TypeError):
        content = reference  # made on the fly: the name is all there is
    return Aim(target=Target(kind="python", reference=reference, name=reference.rsplit(":", 1)[-1], content=content))


def _source_hash(reference: str) -> str:
    """Of the file that holds a function: an edit of it makes another definition."""
    module = reference.partition(":")[0]
    try:
        spec = importlib.util.find_spec(module)
    except (ImportError, ValueError) as error:
        raise UsageError(f"Cannot find {module}: {error}.", remedy="Is it installed, or the folder on PYTHONPATH?") from error
    if spec is None or not spec.origin:
        raise UsageError(f"Cannot find the module {module}.", remedy="Is it installed, or the folder on PYTHONPATH?")
    source = Path(spec.origin)
    return content_hash(source.read_bytes()) if source.is_file() else spec.origin

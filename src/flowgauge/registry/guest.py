"""Loads and runs one adapter, in a process and often an environment that is not Flowgauge's.

A request file in, an answer file out; what the adapter prints goes nowhere. Is
run by its path, so it uses the standard library alone.
"""

from __future__ import annotations

import base64
import json
import pickle
import sys
from collections.abc import Mapping
from importlib.metadata import entry_points
from importlib.util import find_spec
from pathlib import Path
from typing import Any

_METRIC = ("value", "direction", "unit", "samples")
_REQUIRES = ("gpu", "min_vram_gb", "packages")


def answer_to(request: dict[str, Any]) -> dict[str, Any]:
    """What was asked for.

    `group`: which entry points there are. `call`: what the one to `load` answers. Else an adapter, by `load` or `pickled`: described,
    and run where `run` says so.
    """
    if "group" in request:
        return {"entry_points": {found.name: found.value for found in entry_points(group=request["group"])}}
    if "call" in request:
        return {"metrics": _plain(_loaded(request)(**request["settings"]))}
    adapter = _adapter(request)
    requires = _fields(adapter.requires, _REQUIRES)
    told: dict[str, Any] = {"name": adapter.name, "tier": adapter.tier, "requires": requires}
    told["absent"] = [name for name in requires.get("packages", ()) if not _importable(name)]
    if request.get("run"):
        told["metrics"] = _plain(adapter.run())
    return told


def _importable(name: str) -> bool:
    try:
        return find_spec(name) is not None
    except (ImportError, ValueError):  # a part of a package that is not there
        return False


def _plain(metrics: Any) -> Any:
    return {name: _fields(each, _METRIC) for name, each in metrics.items()} if isinstance(metrics, Mapping) else metrics


def _adapter(request: dict[str, Any]) -> Any:
    if "pickled" in request:
        return pickle.loads(base64.b64decode(request["pickled"]))  # noqa: S301 - made a moment ago by the process that started this one
    found = _loaded(request)
    return found(**request["settings"]) if callable(found) else found


def _loaded(request: dict[str, Any]) -> Any:
    return next(one for one in entry_points(group=request["in_group"]) if one.name == request["load"]).load()


def _fields(value: Any, names: tuple[str, ...]) -> Any:
    """A struct or an object of that shape, as a mapping; a mapping as it is."""
    if isinstance(value, Mapping):
        return dict(value)
    return {name: getattr(value, name) for name in names if hasattr(value, name)} or value


def main(request_file: str, answer_file: str) -> None:
    """Whatever goes wrong is told in the answer."""
    request = json.loads(Path(request_file).read_text(encoding="utf-8"))
    if "sys_path" in request:
        sys.path[:] = request["sys_path"]
    try:
        text = json.dumps(answer_to(request), default=_refused)
    except (KeyboardInterrupt, GeneratorExit):
        raise
    except StopIteration:
        text = json.dumps({"error": f"no entry point {request.get('load')!r} is there any more"})
    except BaseException as error:  # noqa: BLE001 - an adapter may raise anything, SystemExit too
        text = json.dumps({"error": f"{type(error).__name__}: {error}"})
    part = Path(f"{answer_file}.part")
    part.write_text(text, encoding="utf-8")
    part.replace(answer_file)


def _refused(value: object) -> str:
    raise TypeError(f"run() answered a {type(value).__name__}, which cannot be written as JSON")


if __name__ == "__main__":
    main(*sys.argv[1:])

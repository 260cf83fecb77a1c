"""Which adapters there are: built in, registered by code, offered by installed packages, installed from repositories.

What is not built in is described by a process of its own, so that a package that
cannot be loaded is shown as that, and harms nobody. A name that is taken is an
error of the one that came second.
"""

from __future__ import annotations

import base64
import math
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import TYPE_CHECKING, Any, get_args

import msgspec

from flowgauge.errors import NotFound, UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.figure import Metric
from flowgauge.registry.adapter import Adapter, Description, Requires, Tier, check_name
from flowgauge.registry.adapters.built_in import BuiltIn, Context
from flowgauge.registry.adapters.table import BUILT_IN
from flowgauge.registry.adapters.workflow import PREFIX, workflow_adapter
from flowgauge.registry.answers import metrics_of
from flowgauge.registry.child import AdapterFailed, Home, ask
from flowgauge.registry.requirements import missing

if TYPE_CHECKING:
    from flowgauge.registry.installing import Installed
    from flowgauge.registry.settings import Settings
    from flowgauge.store.store import Store

GROUP = "flowgauge.adapters"
DESCRIBE_S = 60.0
"""How long an adapter may take to be loaded."""
_HERE = Home(python=sys.executable, isolated=False)
_registered: dict[str, Adapter] = {}


class Candidate(msgspec.Struct, frozen=True):
    """An adapter that can be run, or whose description says why not."""

    description: Description
    run: Callable[[], Mapping[str, Metric]]


def register_benchmark(adapter: Adapter) -> None:
    """Make an adapter known to this process; one of the same name takes the place of the one before it.

    It is run in a process of its own, so its class must be one that `pickle` finds. Raises UsageError.
    """
    name = check_name(adapter.name, "An adapter")
    if name in BUILT_IN:
        raise UsageError(f"{name} is a built-in adapter.", remedy="Give yours another name.")
    _read_tier(adapter.tier)
    _read_requires(adapter.requires)
    if type(adapter).__module__ == "__main__":
        raise UsageError(
            f"The class of the adapter {name} is in the script that was started, where no other process finds it.",
            remedy="Move the class to a module, and import it from there.",
        )
    try:
        pickle.dumps(adapter)
    except Exception as error:
        raise UsageError(
            f"The adapter {name} cannot be handed to a process of its own: {error}.", remedy="Define its class at the top of a module."
        ) from error
    _registered[name] = adapter


def unregister_benchmark(name: str) -> None:
    """Raises NotFound."""
    if _registered.pop(name, None) is None:
        raise NotFound(f"No adapter {name!r} was registered.", remedy=did_you_mean(name, _registered))


def names_elsewhere(installed: Iterable[Installed]) -> list[str]:
    """Of adapters that are not built in, without loading any."""
    return [*_registered, *(found.name for found in entry_points(group=GROUP)), *(each.name for each in installed)]


def find_candidates(store: Store, settings: Settings, installed: Iterable[Installed]) -> list[Candidate]:
    """All there are, the built-in ones first."""
    context = Context(store, settings.time_limit_s)
    found: dict[str, Candidate] = {}
    taken: list[Candidate] = []
    for candidate in _all(context, settings, installed):
        name = candidate.description.name
        if name in found:
            told = f"the name is taken: {found[name].description.source}"
            taken.append(
                _failed(f"{name} ({candidate.description.source})", candidate.description.source, told, candidate.description.tier)
            )
        else:
            found[name] = candidate
    return [*found.values(), *taken]


def choose(candidates: list[Candidate], names: Iterable[str], store: Store, settings: Settings) -> list[Candidate]:
    """By name, in the order given; `workflow:<name>` is one whether it is in the settings or not. Raises NotFound."""
    by_name = {each.description.name: each for each in candidates}
    chosen = []
    for name in dict.fromkeys(names):
        if name.startswith(PREFIX):
            row = workflow_adapter(name.removeprefix(PREFIX))
            by_name.setdefault(name, _built_in(row, Context(store, settings.time_limit_s), {}))
        if name not in by_name:
            raise NotFound(f"There is no adapter {name!r}. {did_you_mean(name, by_name)}", remedy="See: flowgauge registry list")
        chosen.append(by_name[name])
    return chosen


def _all(context: Context, settings: Settings, installed: Iterable[Installed]) -> Iterator[Candidate]:
    rows = [*BUILT_IN.values(), *map(workflow_adapter, settings.workflows)]
    yield from (_built_in(row, context, settings.of(row.name)) for row in rows)
    yield from (_of_code(adapter, context.time_limit_s) for adapter in list(_registered.values()))
    yield from (_of_package(found, settings.of(found.name), context.time_limit_s) for found in entry_points(group=GROUP))
    yield from (_of_repository(each, settings.of(each.name), context.time_limit_s) for each in installed)


def _built_in(row: BuiltIn, context: Context, section: Mapping[str, Any]) -> Candidate:
    said = msgspec.convert(dict(section), row.settings)
    lacks = "; ".join(filter(None, (row.missing(said), missing(row.requires))))
    described = Description(name=row.name, tier=row.tier, source="built in", requires=row.requires, missing=lacks)
    return Candidate(described, lambda: row.run(said, context))


def _of_code(adapter: Adapter, time_limit_s: float) -> Candidate:
    requires = _read_requires(adapter.requires)
    described = Description(
        name=adapter.name, tier=_read_tier(adapter.tier), source="registered", requires=requires, missing=missing(requires)
    )
    request = {"pickled": base64.b64encode(pickle.dumps(adapter)).decode(), "sys_path": sys.path, "run": True}
    return Candidate(described, lambda: _measured(_HERE, request, time_limit_s))


def _of_package(found: EntryPoint, section: Mapping[str, Any], time_limit_s: float) -> Candidate:
    source = f"package {found.dist.name} {found.dist.version}" if found.dist else f"entry point {found.value}"
    request = {"in_group": GROUP, "load": found.name, "settings": dict(section), "sys_path": sys.path}
    return _described(found.name, source, _HERE, request, time_limit_s)


def _of_repository(each: Installed, section: Mapping[str, Any], time_limit_s: float) -> Candidate:
    if each.damage:
        return _failed(each.name, "repository", each.damage, "dynamic")
    source = f"repository {each.url} at {each.commit[:12]}"
    request = {"in_group": GROUP, "load": each.entry_point, "settings": dict(section)}
    return _described(each.name, source, each.home, request, time_limit_s, tier="dynamic", needs=each.requires)


def _described(
    name: str,
    source: str,
    home: Home,
    request: dict[str, Any],
    time_limit_s: float,
    *,
    tier: Tier | None = None,
    needs: Requires | None = None,
) -> Candidate:
    """What it says of itself; `tier` and `needs` are what was said when it was installed."""
    try:
        told = ask(home, request, time_limit_s=min(DESCRIBE_S, time_limit_s))
        requires = _both(_read_requires(told.get("requires")), needs)
        tier = tier or _read_tier(told.get("tier"))
        packages = _read_absent(told.get("absent"))
    except (AdapterFailed, UsageError) as error:
        return _failed(name, source, str(error), tier or "fast")
    absent = [f"the package {package} is not installed" for package in packages]
    lacks = "; ".join([*absent, *filter(None, [missing(requires, packages_here=False)])])
    described = Description(name=name, tier=tier, source=source, requires=requires, missing=lacks)
    return Candidate(described, lambda: _measured(home, {**request, "run": True}, time_limit_s))


def _measured(home: Home, request: Mapping[str, Any], time_limit_s: float) -> Mapping[str, Metric]:
    return metrics_of(ask(home, request, time_limit_s=time_limit_s).get("metrics"))


def _failed(name: str, source: str, error: str, tier: Tier = "fast") -> Candidate:
    """Counted as fast where its tier is not known: so it is seen at every upgrade."""

    def run() -> Mapping[str, Metric]:
        raise AdapterFailed(error)

    return Candidate(Description(name=name, tier=tier, source=source, error=error), run)


def _both(own: Requires, given: Requires | None) -> Requires:
    if given is None:
        return own
    return Requires(
        gpu=own.gpu or given.gpu, min_vram_gb=max(own.min_vram_gb, given.min_vram_gb), packages=(*own.packages, *given.packages)
    )


def _read_absent(packages: Any) -> list[str]:
    if not isinstance(packages, list) or not all(isinstance(each, str) for each in packages):
        raise AdapterFailed("it describes itself in a way that cannot be read")
    return packages


def _read_tier(tier: Any) -> Tier:
    if tier not in get_args(Tier):
        raise UsageError(f"{tier!r} is no tier.", remedy=f"Take one of {', '.join(get_args(Tier))}.")
    known: Tier = tier
    return known


def _read_requires(given: Any) -> Requires:
    try:
        found = given if isinstance(given, Requires) else msgspec.convert(given, Requires)
    except msgspec.ValidationError as error:
        raise UsageError(
            f"`requires` of the adapter does not fit: {error}.", remedy="Give a mapping with gpu, min_vram_gb and packages."
        ) from None
    if not (math.isfinite(found.min_vram_gb) and found.min_vram_gb >= 0):
        raise UsageError(f"`requires` of the adapter asks for {found.min_vram_gb} GB.", remedy="Give a number of GB, 0 or more.")
    return found

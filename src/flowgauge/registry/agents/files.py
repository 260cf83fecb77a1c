"""Snapshots of agents as files: `<data>/baselines/<prompt>_<flow>/v<N>.json`.

A file is written whole or not at all, under a lock that processes share, and
never over another. Versions are numbers, and sorted as such. Refuses a file that
is no snapshot, or is of another agent or version than its place says.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from flowgauge.errors import BadFile, Conflict
from flowgauge.model.problem import Problem
from flowgauge.registry.agents.agent import Agent, agent_in
from flowgauge.registry.agents.snapshot import AgentSnapshot
from flowgauge.registry.whole_file import make_folder, write_whole
from flowgauge.store.filelock import locked

FOLDER = "baselines"
_WAIT_S = 60.0
_VERSION = re.compile(r"v([1-9][0-9]{0,8})\.json")


@contextlib.contextmanager
def writing(data: Path) -> Iterator[None]:
    """Around choosing a number and writing its file. Raises Conflict where others take too long."""
    folder = make_folder(data / FOLDER)
    with locked(folder / ".lock", wait_s=_WAIT_S) as had:
        if not had:
            raise Conflict("Another snapshot of an agent is being written.", remedy="Try again.")
        yield


def write(data: Path, agent: Agent, snapshot: AgentSnapshot) -> Path:
    """The caller holds the lock. Raises Conflict where the version is taken."""
    place = _place(data, agent, snapshot.version)
    if place.exists():
        raise Conflict(f"There is a {place.name} of the agent {agent} already.", remedy="Capture it again.")
    return write_whole(place, msgspec.json.format(msgspec.json.encode(snapshot)))


def read(data: Path, agent: Agent, version: int) -> AgentSnapshot | None:
    """None where there is no such file. Raises BadFile."""
    place = _place(data, agent, version)
    try:
        found = msgspec.json.decode(place.read_bytes(), type=AgentSnapshot)
    except FileNotFoundError:
        return None
    except (msgspec.DecodeError, OSError) as error:
        raise _bad(place, f"{error}") from None
    if (found.prompt_id, found.flow_id, found.version) != (agent.prompt_id, agent.flow_id, version):
        raise _bad(place, f"it is version {found.version} of {found.prompt_id}/{found.flow_id}")
    return found


def versions(data: Path, agent: Agent) -> list[int]:
    """In numeric order."""
    return sorted(int(match[1]) for file in (data / FOLDER / agent.folder).glob("v*.json") if (match := _VERSION.fullmatch(file.name)))


def agents(data: Path) -> list[Agent]:
    """All that have a file."""
    folder = data / FOLDER
    if not folder.is_dir():
        return []
    named = (agent_in(each.name) for each in folder.iterdir() if each.is_dir())
    return sorted(found for found in named if found is not None and versions(data, found))


def remove(data: Path, agent: Agent, version: int) -> None:
    """Whatever is in it. The caller holds the lock. The folder goes with the last."""
    place = _place(data, agent, version)
    place.unlink(missing_ok=True)
    with contextlib.suppress(OSError):  # somebody's files are in it, or there is none
        place.parent.rmdir()


def _place(data: Path, agent: Agent, version: int) -> Path:
    return data / FOLDER / agent.folder / f"v{version}.json"


def _bad(place: Path, why: str) -> BadFile:
    return BadFile(str(place), [Problem(0, "", f"This is no snapshot of an agent: {why}.", "Restore the file, or remove it.")])

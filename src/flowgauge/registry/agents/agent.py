"""Which agent: a prompt and a flow; and the names that this pair goes by in folders and in the store.

Two different pairs never have the same name, and no id leads out of its folder:
whatever is no plain letter is escaped, and so is the mark that parts the two.
Refuses ids that are empty, too long, not printable or padded with blanks.
"""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

import msgspec

from flowgauge.errors import UsageError

SUBJECT = "agent:"
LONGEST_ID = 128
_LONGEST_FOLDER = 240
_ENDS = re.compile(r"^\.|\.$")


class Agent(msgspec.Struct, frozen=True, order=True):
    """Make one with `agent_of`, which checks it."""

    prompt_id: str
    flow_id: str

    @property
    def folder(self) -> str:
        """`<prompt>_<flow>`. The first `_` parts the two: those of the prompt are escaped."""
        return f"{_plain(self.prompt_id).replace('_', '%5F')}_{_plain(self.flow_id)}"

    @property
    def subject(self) -> str:
        """`agent:<prompt>/<flow>`, in the store."""
        return f"{SUBJECT}{self}"

    def __str__(self) -> str:
        """`<prompt>/<flow>`. The first `/` parts the two: those of the prompt are escaped, and so is what escapes them."""
        return f"{self.prompt_id.replace('%', '%25').replace('/', '%2F')}/{self.flow_id}"


def agent_of(prompt_id: str, flow_id: str) -> Agent:
    """Raises UsageError that names the id."""
    made = Agent(_checked(prompt_id, "prompt_id"), _checked(flow_id, "flow_id"))
    if len(made.folder) > _LONGEST_FOLDER:
        raise UsageError(f"The ids of the agent {made} are too long for the name of a folder.", remedy="Take shorter ones.")
    return made


def agent_in(folder: str) -> Agent | None:
    """The agent whose folder it is; None where it is nobody's."""
    prompt_id, parted, flow_id = folder.partition("_")
    try:
        found = agent_of(unquote(prompt_id, errors="strict"), unquote(flow_id, errors="strict"))
    except (UsageError, UnicodeDecodeError):
        return None
    return found if parted and found.folder == folder else None


def agent_called(subject: str) -> Agent | None:
    """The agent whose subject it is; None where it is nobody's."""
    try:
        return agent_spelled(subject.removeprefix(SUBJECT))
    except UsageError:
        return None


def agent_spelled(text: str) -> Agent:
    """The agent that is shown like this. Raises UsageError."""
    prompt_id, slash, flow_id = text.partition("/")
    if not slash:
        raise UsageError(f"{text[:LONGEST_ID]!r} names no agent.", remedy="Write PROMPT/FLOW, and %2F for a / in the prompt.")
    return agent_of(prompt_id.replace("%2F", "/").replace("%25", "%"), flow_id)


def _checked(name: str, what: str) -> str:
    if not 0 < len(name) <= LONGEST_ID or not name.isprintable() or name != name.strip():
        error = UsageError(
            f"{name[:LONGEST_ID]!r} is no {what}.", remedy=f"Take 1 to {LONGEST_ID} printable characters, with no blank at either end."
        )
        error.field = what
        raise error
    return name


def _plain(name: str) -> str:
    """Letters, digits, `-`, `_` and inner dots stay; all else is escaped as in a URL."""
    return _ENDS.sub("%2E", quote(name, safe="").replace("~", "%7E"))

"""Tell a webhook what came of a schedule.

JSON by POST, at least once: who receives it knows a delivery by its
`Idempotency-Key`. A redirect is not followed. The address may be a secret, so
words about it name its host only; and `env:NAME` keeps it out of the store.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import msgspec

from flowgauge._version import __version__
from flowgauge.errors import UsageError
from flowgauge.model.redaction import Redactor, cleaned
from flowgauge.model.workflow import Json

if TYPE_CHECKING:
    import aiohttp

    from flowgauge.model.ports import Clock

TIMEOUT_S = 10.0
"""One attempt, from the connection to the answer."""
PAUSES_S = (1.0, 5.0, 25.0)
"""Between attempts; so many and one more are made."""
BY_VARIABLE = "env:"
MASK = "…"
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,199}")
_WORTH_A_RETRY = frozenset({408, 425, 429})


def check_hook(webhook: str) -> None:
    """Raises UsageError for what is neither a URL nor the name of a variable that will hold one."""
    if not webhook:
        return
    if webhook.startswith(BY_VARIABLE):
        if not _VARIABLE.fullmatch(webhook.removeprefix(BY_VARIABLE)):
            raise UsageError(f"'{webhook}' names no environment variable.", remedy="Write env:NAME.")
        return
    if not _host(webhook):
        raise UsageError(
            "The webhook is no address.",
            remedy="Give a URL that begins with http:// or https://, or env:NAME for a variable that holds it.",
        )


def shown_hook(webhook: str) -> str:
    """For readers: without what may be secret in it."""
    return webhook if not webhook or webhook.startswith(BY_VARIABLE) else f"{urlsplit(webhook).scheme}://{_host(webhook)}/{MASK}"


async def tell(webhook: str, news: Mapping[str, Json], *, key: str, redact: Redactor, clock: Clock) -> str:
    """Post it. Empty where it was taken; else why not, in words without a secret."""
    import aiohttp

    url = os.environ.get(webhook.removeprefix(BY_VARIABLE), "") if webhook.startswith(BY_VARIABLE) else webhook
    if not _host(url):
        return f"The webhook was not told: {webhook} holds no URL where the server runs."
    redact.learn([url] if webhook.startswith(BY_VARIABLE) else [])
    body = msgspec.json.encode(cleaned(msgspec.to_builtins(news), redact))
    headers = {"Content-Type": "application/json", "Idempotency-Key": key, "User-Agent": f"flowgauge/{__version__}"}
    why, attempts = "", 0
    async with aiohttp.ClientSession(headers=headers, timeout=aiohttp.ClientTimeout(total=TIMEOUT_S)) as session:
        for pause_s in (*PAUSES_S, None):
            why, again = await _posted(session, url, body)
            attempts += 1
            if not again or pause_s is None:
                break
            await clock.sleep(pause_s)
    times = f", {attempts} times" if attempts > 1 else ""
    return f"The webhook at {_host(url)} was not told: {why}{times}." if why else ""


async def _posted(session: aiohttp.ClientSession, url: str, body: bytes) -> tuple[str, bool]:
    """Why it was not taken, and whether to try again; empty where it was."""
    import aiohttp

    try:
        async with session.post(url, data=body, allow_redirects=False) as response:
            status = response.status
    except TimeoutError:
        return f"it did not answer within {TIMEOUT_S:g} s", True
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return f"it could not be reached ({type(error).__name__})", not isinstance(error, ValueError)
    if status // 100 == 2:
        return "", False
    return f"it answered {status}", status >= 500 or status in _WORTH_A_RETRY


def _host(url: str) -> str:
    """Host and port; empty where it is no URL that can be posted to."""
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return ""
    return f"{parts.hostname}{port}" if parts.scheme in ("http", "https") and parts.hostname else ""

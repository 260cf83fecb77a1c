"""What an HTTP answer or a broken connection means: which kind of failure, how long to wait, what to do.

In: a status, headers and body, or a client's exception. Out: errors.Failed.
The key that was sent is taken out of everything that is quoted.
"""

from __future__ import annotations

import email.utils
import time
from collections.abc import Mapping
from typing import Final

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.play import Failure
from flowgauge.model.redaction import redactor
from flowgauge.model.workflow import FailureKind, Json
from flowgauge.providers.provider import Reply

DETAIL_CHARS: Final = 500

KINDS: Final[dict[int, FailureKind]] = {408: "timeout", 429: "rate_limited"}
"""Where the status alone does not say it: 5xx is the provider's fault, every other one the request's."""

REMEDIES: Final[dict[int, str]] = {
    301: "Check base_url: the address has moved.",
    302: "Check base_url: it leads elsewhere.",
    307: "Check base_url: the address has moved.",
    308: "Check base_url: the address has moved.",
    400: "Check the model's name and its settings (temperature, max_tokens, extra, schema).",
    401: "Set {key_env} to a valid key.",
    402: "Top up the account that the key in {key_env} belongs to.",
    403: "Use a key in {key_env} that may use this model.",
    404: "Check the model's name and base_url.",
    413: "Make the prompt or its images smaller.",
    422: "Check the model's settings (temperature, max_tokens, extra, schema).",
}

STATUS_OF_TYPE: Final[dict[str, int]] = {
    "authentication_error": 401,
    "billing_error": 402,
    "invalid_request_error": 400,
    "not_found_error": 404,
    "permission_error": 403,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "request_too_large": 413,
    "timeout_error": 408,
}
"""Errors that arrive inside a stream or a 200 carry a type in place of a status."""

NO_WAIT_HELPS: Final = ("insufficient_quota", "billing_hard_limit_reached")


class Caller(msgspec.Struct, frozen=True):
    """Who was called, for messages; `secret` is only ever used to be blotted out."""

    provider: str
    key_env: str = ""
    secret: str = ""

    def blot(self, text: str) -> str:
        """The text without the key."""
        return redactor([self.secret] if self.secret else [])(text)


class BrokenReply(Failed):
    """The model answered, and was paid, but the answer cannot be used. `reply` says what it used."""

    def __init__(self, failure: Failure, reply: Reply) -> None:
        super().__init__(failure)
        self.reply = reply


def of_status(caller: Caller, status: int, headers: Mapping[str, str], body: bytes) -> Failed:
    """An answer that is not 200."""
    said, code = _said(body)
    return _failed(caller, status, said, code, retry_after_s=retry_after_s(headers, time.time()), detail=body)


def of_error_body(caller: Caller, error: Json) -> Failed:
    """An error inside a stream, or in an answer that claims to be a success."""
    body = msgspec.json.encode({"error": error})
    said, code = _said(body)
    number = error.get("code") if isinstance(error, dict) else None
    status = number if isinstance(number, int) and number >= 400 else STATUS_OF_TYPE.get(code, 500)
    return _failed(caller, status, said, code, retry_after_s=None, detail=body)


def of_exception(caller: Caller, error: Exception, timeout_s: float) -> Failed:
    """A request that got no whole answer."""
    import aiohttp

    if isinstance(error, TimeoutError):
        message = f"{caller.provider} did not answer within {timeout_s:g} s. Raise timeout_s, or ask for less."
        return Failed(Failure(kind="timeout", message=message))
    reason = caller.blot(str(error) or type(error).__name__)[:DETAIL_CHARS]
    if isinstance(error, aiohttp.ClientPayloadError):
        return cut_off(caller, reason)
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        message = f"{caller.provider} cannot be called at {reason}. Set base_url to an http or https address."
        return Failed(Failure(kind="provider_rejected", message=message))
    message = f"No connection to {caller.provider}: {reason}. Check base_url and that the server is up."
    return Failed(Failure(kind="connection", message=message))


def malformed(caller: Caller, reason: str, body: bytes) -> Failed:
    """An answer that is not what the dialect promises."""
    detail = _cut(caller, body)
    return Failed(Failure(kind="provider_error", message=f"{caller.provider} sent an answer that cannot be read: {reason}.", detail=detail))


def cut_off(caller: Caller, reason: str) -> Failed:
    """An answer that broke off."""
    return Failed(Failure(kind="provider_error", message=f"The answer of {caller.provider} broke off before its end.", detail=reason))


def bad_arguments(caller: Caller, tool: str, written: str, reply: Reply) -> BrokenReply:
    """The model wrote tool arguments that are no JSON object."""
    why = " It was cut off: raise max_tokens." if reply.finish == "length" else ""
    message = f"The model called the tool {tool!r} with arguments that are no JSON object.{why}"
    return BrokenReply(Failure(kind="invalid_output", message=message, detail=_cut(caller, written.encode())), reply)


def retry_after_s(headers: Mapping[str, str], now_s: float) -> float | None:
    """How long the provider asks to wait: retry-after-ms, or Retry-After in seconds or as a date."""
    if (millis := _number(headers.get("retry-after-ms"))) is not None:
        return max(0.0, millis / 1000)
    written = headers.get("retry-after")
    if written is None or (seconds := _number(written)) is not None:
        return None if written is None or seconds is None else max(0.0, seconds)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(written).timestamp() - now_s)
    except ValueError:
        return None


def _failed(caller: Caller, status: int, said: str, code: str, *, retry_after_s: float | None, detail: bytes) -> Failed:
    kind: FailureKind = KINDS.get(status) or ("provider_error" if status >= 500 else "provider_rejected")
    remedy = REMEDIES.get(status, "").format(key_env=caller.key_env or "the key's variable")
    if status == 429 and code in NO_WAIT_HELPS:
        kind, remedy = "provider_rejected", REMEDIES[402].format(key_env=caller.key_env or "the key's variable")
    what = caller.blot(said)[:DETAIL_CHARS].strip() or "no reason given"
    message = f"{caller.provider} answered {status}: {what}".rstrip(".") + f". {remedy}"
    return Failed(Failure(kind=kind, message=message.rstrip(), retry_after_s=retry_after_s, detail=_cut(caller, detail)))


def _said(body: bytes) -> tuple[str, str]:
    """The provider's own words and its code for them, in any of the shapes that are about."""
    try:
        answer = msgspec.json.decode(body)
    except (msgspec.DecodeError, UnicodeDecodeError):
        return body[:DETAIL_CHARS].decode(errors="replace"), ""
    error = answer.get("error", answer) if isinstance(answer, dict) else answer
    if not isinstance(error, dict):
        return str(error), ""
    said = error.get("message") or error.get("detail") or error.get("error") or ""
    code = error.get("code")
    return str(said), code if isinstance(code, str) else str(error.get("type") or "")


def _number(written: str | None) -> float | None:
    try:
        number = float(written or "")
    except ValueError:
        return None
    return number if number < float("inf") else None  # also refuses NaN


def _cut(caller: Caller, body: bytes) -> str:
    return caller.blot(body.decode(errors="replace"))[:DETAIL_CHARS]

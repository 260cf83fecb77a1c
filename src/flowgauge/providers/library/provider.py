"""Every provider that has no dialect of its own here, through pydantic-ai.

In: a request; `library:openai` and the like send a provider that has a dialect through
the library as well. Out: a Reply. The library is imported by the first request (it takes
a second or two), its retries are off, and its exceptions become our kinds of failure.
Its clients hold the key as long as it is the one in the environment; nothing else does.
"""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

import msgspec

from flowgauge.errors import Failed, MissingExtra
from flowgauge.model.exchange import ModelRequest
from flowgauge.model.play import Failure
from flowgauge.providers.provider import Reply
from flowgauge.providers.wire import http_failures
from flowgauge.providers.wire.endpoints import ANTHROPIC, OPENAI_COMPATIBLE, PLACEHOLDER, is_loopback, read_key
from flowgauge.providers.wire.http_failures import Caller

if TYPE_CHECKING:
    from pydantic_ai.models import Model
    from pydantic_ai.providers import Provider as LibraryProvider

PREFIX: Final = "library:"
KINDS: Final[dict[str, str]] = {"openai": "openai-chat", "gemini": "google", "vertex": "google-cloud", "lmstudio": "openai-chat"}
"""Where the library's name differs from ours."""
EXAMPLES: Final = ("bedrock", "cohere", "google", "google-cloud", "huggingface")


class Library:
    """pydantic-ai's direct model requests."""

    def __init__(self) -> None:
        self._providers: dict[tuple[str, str, int], LibraryProvider[Any]] = {}

    def warm_up(self, request: ModelRequest) -> None:
        """Import the library and open the client, so that neither is in the first answer's time."""
        _require()
        importlib.import_module("flowgauge.providers.library.words")
        self._model(request, _caller(request))

    async def complete(self, request: ModelRequest, *, on_text: Callable[[str], None] | None = None) -> Reply:
        """One exchange."""
        _require()
        caller = _caller(request)
        model = self._model(request, caller)
        try:
            if request.stream:
                return await _stream(request, caller, model, on_text)
            return await _whole(request, caller, model)
        except Failed:
            raise
        except Exception as error:
            raise _failed(caller, error) from error

    async def close(self) -> None:
        """Close the library's clients."""
        for provider in self._providers.values():
            async with provider:  # entered and left: only so does it close a client of its own
                pass
        self._providers.clear()

    def _model(self, request: ModelRequest, caller: Caller) -> Model:
        from pydantic_ai.models import infer_model

        kind = _kind(request.provider)
        place = (kind, request.base_url, hash(caller.secret))
        provider = self._providers.get(place)
        if provider is None:
            provider = self._providers[place] = _open(request, kind, caller)
        return infer_model(f"{kind}:{request.model}", provider_factory=lambda _: provider)


def knows(provider: str) -> bool:
    """Whether the library is installed and has this provider."""
    if importlib.util.find_spec("pydantic_ai") is None:
        return False
    from pydantic_ai.providers import infer_provider_class

    try:
        infer_provider_class(_kind(provider))
    except ValueError:
        return False
    except ImportError:
        return True  # it has it, but for a package: the call will name that
    return True


def _require() -> None:
    if importlib.util.find_spec("pydantic_ai") is None:
        raise MissingExtra("A provider without a dialect of its own", "llm")


def _kind(provider: str) -> str:
    name = provider.removeprefix(PREFIX)
    return KINDS.get(name, name)


def _caller(request: ModelRequest) -> Caller:
    """The key is read here for the providers whose variable we know; the others read their own."""
    name = request.provider.removeprefix(PREFIX)
    endpoint = ANTHROPIC if name == "anthropic" else OPENAI_COMPATIBLE.get(name)
    key_env = request.api_key_env or (endpoint.key_env if endpoint else "")
    if not key_env:
        return Caller(request.provider)
    needs_key = (endpoint is None or endpoint.needs_key) and not is_loopback(request.base_url)
    return Caller(request.provider, key_env, read_key(os.environ, request.provider, key_env, needs_key=needs_key) or PLACEHOLDER)


def _open(request: ModelRequest, kind: str, caller: Caller) -> LibraryProvider[Any]:
    from pydantic_ai.exceptions import UserError
    from pydantic_ai.providers import infer_provider_class

    try:
        factory = infer_provider_class(kind)
        wanted = {"base_url": request.base_url, "api_key": caller.secret}
        given = {name: value for name, value in wanted.items() if value}
        if refused := given.keys() - inspect.signature(factory).parameters.keys():
            names = " and ".join(sorted(refused)).replace("api_key", "api_key_env")
            raise _rejected(caller, f"it takes no {names}. Leave it out; its own environment variables are read")
        return factory(**given)
    except (ImportError, UserError, ValueError) as error:
        raise _rejected(caller, str(error)) from error


async def _whole(request: ModelRequest, caller: Caller, model: Model) -> Reply:
    from pydantic_ai.direct import model_request

    from flowgauge.providers.library import words

    answer = await model_request(
        model,
        words.messages_of(request),
        model_settings=words.settings_of(request, model),
        model_request_parameters=words.parameters_of(request, model),
    )
    return words.reply_of(request, caller, answer)


async def _stream(request: ModelRequest, caller: Caller, model: Model, on_text: Callable[[str], None] | None) -> Reply:
    from pydantic_ai.direct import model_request_stream

    from flowgauge.providers.library import words

    started_s = time.perf_counter()
    first_token_ms: float | None = None
    async with model_request_stream(
        model,
        words.messages_of(request),
        model_settings=words.settings_of(request, model),
        model_request_parameters=words.parameters_of(request, model),
    ) as stream:
        async for event in stream:
            text, is_said = words.heard(event)
            if is_said and first_token_ms is None:
                first_token_ms = (time.perf_counter() - started_s) * 1000
            if text and on_text is not None:
                on_text(text)
    return words.reply_of(request, caller, stream.get(), first_token_ms)


def _failed(caller: Caller, error: Exception) -> Failed:
    """The library's exceptions as our kinds; what is neither of them is a fault of ours or of the library."""
    from pydantic_ai import exceptions as library

    if isinstance(error, library.ModelHTTPError):
        body = msgspec.json.encode(error.body if isinstance(error.body, dict | list | str) else str(error.body))
        return http_failures.of_status(caller, error.status_code, error.headers or {}, body)
    said = caller.blot(str(error))[: http_failures.DETAIL_CHARS]
    if isinstance(error, library.ModelTimeoutError | library.ModelRequestTimeout | TimeoutError):
        return Failed(
            Failure(kind="timeout", message=f"{caller.provider} did not answer in time: {said} Raise timeout_s, or ask for less.")
        )
    if isinstance(error, library.ModelConnectionError):
        return _broken(caller, error, said)
    if isinstance(error, library.ModelRateLimitError):
        message = f"{caller.provider} limits the rate: {said}"
        return Failed(Failure(kind="rate_limited", message=message, retry_after_s=error.retry_after))
    if isinstance(error, library.UserError | library.ModelRequestRejectedError | library.ModelQuotaExceededError | ImportError):
        return _rejected(caller, said)
    return Failed(Failure(kind="provider_error", message=f"{caller.provider} gave no usable answer: {said}", detail=type(error).__name__))


def _broken(caller: Caller, error: Exception, said: str) -> Failed:
    """A stream that breaks off is the provider's failure; not reaching it at all is the connection's."""
    if getattr(error, "in_stream", False) or getattr(error, "phase", None) == "read":
        return http_failures.cut_off(caller, said)
    return Failed(
        Failure(kind="connection", message=f"No connection to {caller.provider}: {said} Check base_url and that the server is up.")
    )


def _rejected(caller: Caller, why: str) -> Failed:
    return Failed(Failure(kind="provider_rejected", message=f"{caller.provider} cannot be called: {caller.blot(why)}"))

"""Where providers listen and which variable holds their key.

In: a request. Out: its address and headers. The key is read from the environment
for each call and kept nowhere. A missing key or address is refused with the name
of what to set; a server on this machine needs no key.
"""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Mapping
from functools import lru_cache
from typing import Final
from urllib.parse import urlsplit

import msgspec

from flowgauge.errors import Failed
from flowgauge.model.exchange import ModelRequest
from flowgauge.model.play import Failure
from flowgauge.providers.wire.http_failures import Caller

PLACEHOLDER: Final = "no-key-needed"
"""What a server on this machine is sent where no key is set: some insist on one."""


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """A provider's usual address and how it wants its key."""

    base_url: str = ""
    key_env: str = ""
    header: str = "Authorization"
    prefix: str = "Bearer "
    needs_key: bool = True
    hint: str = ""
    """What to set base_url to, where there is no usual address."""


OPENAI_COMPATIBLE: Final[dict[str, Endpoint]] = {
    "openai": Endpoint(base_url="https://api.openai.com/v1", key_env="OPENAI_API_KEY"),
    "azure": Endpoint(
        key_env="AZURE_OPENAI_API_KEY",
        header="api-key",
        prefix="",
        hint="https://YOUR-RESOURCE.openai.azure.com/openai/v1 (or …/openai/deployments/NAME?api-version=…)",
    ),
    "cerebras": Endpoint(base_url="https://api.cerebras.ai/v1", key_env="CEREBRAS_API_KEY"),
    "deepinfra": Endpoint(base_url="https://api.deepinfra.com/v1/openai", key_env="DEEPINFRA_API_KEY"),
    "deepseek": Endpoint(base_url="https://api.deepseek.com/v1", key_env="DEEPSEEK_API_KEY"),
    "fireworks": Endpoint(base_url="https://api.fireworks.ai/inference/v1", key_env="FIREWORKS_API_KEY"),
    "groq": Endpoint(base_url="https://api.groq.com/openai/v1", key_env="GROQ_API_KEY"),
    "lmstudio": Endpoint(base_url="http://localhost:1234/v1", key_env="LMSTUDIO_API_KEY", needs_key=False),
    "mistral": Endpoint(base_url="https://api.mistral.ai/v1", key_env="MISTRAL_API_KEY"),
    "moonshotai": Endpoint(base_url="https://api.moonshot.ai/v1", key_env="MOONSHOTAI_API_KEY"),
    "ollama": Endpoint(base_url="http://localhost:11434/v1", key_env="OLLAMA_API_KEY", needs_key=False),
    "openrouter": Endpoint(base_url="https://openrouter.ai/api/v1", key_env="OPENROUTER_API_KEY"),
    "perplexity": Endpoint(base_url="https://api.perplexity.ai", key_env="PERPLEXITY_API_KEY"),
    "sambanova": Endpoint(base_url="https://api.sambanova.ai/v1", key_env="SAMBANOVA_API_KEY"),
    "together": Endpoint(base_url="https://api.together.xyz/v1", key_env="TOGETHER_API_KEY"),
    "vllm": Endpoint(base_url="http://localhost:8000/v1", key_env="VLLM_API_KEY", needs_key=False),
    "xai": Endpoint(base_url="https://api.x.ai/v1", key_env="XAI_API_KEY"),
}

ANTHROPIC: Final = Endpoint(base_url="https://api.anthropic.com", key_env="ANTHROPIC_API_KEY", header="x-api-key", prefix="")


class Destination(msgspec.Struct, frozen=True):
    """Where one request goes, with the headers that let it in."""

    url: str
    headers: dict[str, str]
    caller: Caller


def openai_endpoint(provider: str) -> Endpoint:
    """The row of a provider; one that is not in the table is whoever listens at its base_url."""
    known = OPENAI_COMPATIBLE.get(provider)
    return known or Endpoint(key_env=f"{provider.upper().replace('-', '_')}_API_KEY", needs_key=False, hint="its address")


def destination(request: ModelRequest, endpoint: Endpoint, path: str) -> Destination:
    """The address of `path` at the provider and its key's header."""
    base_url = request.base_url or endpoint.base_url
    if not base_url:
        raise _rejected(f"{request.provider} has no usual address. Set base_url to {endpoint.hint}.")
    url = _join(base_url, path)
    key_env = request.api_key_env or endpoint.key_env
    needs_key = (endpoint.needs_key or bool(request.api_key_env)) and not is_loopback(base_url)
    key = read_key(os.environ, request.provider, key_env, needs_key=needs_key)
    headers = {endpoint.header: endpoint.prefix + (key or PLACEHOLDER), "Content-Type": "application/json"}
    return Destination(url, headers, Caller(request.provider, key_env, key))


def read_key(environment: Mapping[str, str], provider: str, key_env: str, *, needs_key: bool) -> str:
    """The key, as it is now; empty where there is none and none is needed."""
    key = environment.get(key_env, "").strip()
    if not key and needs_key:
        raise _rejected(f"No key for {provider}. Set the environment variable {key_env}, or name another one with api_key_env.")
    if not (key.isascii() and key.isprintable()):
        raise _rejected(f"The key in {key_env} has characters that no header can carry. Set it again, without line breaks or quotes.")
    return key


@lru_cache(maxsize=256)
def is_loopback(base_url: str) -> bool:
    """Whether the address is on this machine."""
    host = urlsplit(base_url).hostname or ""
    if host == "localhost" or host.endswith(".localhost"):
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False


@lru_cache(maxsize=256)
def _join(base_url: str, path: str) -> str:
    """The path goes before a query (Azure's api-version), and is not added twice."""
    try:
        parts = urlsplit(base_url)
        usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        usable = False
    if not usable:
        raise _rejected(f"base_url {base_url!r} is no address. Write http://HOST:PORT/PATH or https://HOST/PATH.")
    base, question, query = base_url.partition("?")
    base = base.rstrip("/")
    first = path.split("/", 2)[1]
    if path.startswith("/v1/") and base.endswith("/v1"):
        base = base.removesuffix(f"/{first}")
    return f"{base.removesuffix(path)}{path}{question}{query}"


def _rejected(message: str) -> Failed:
    return Failed(Failure(kind="provider_rejected", message=message))

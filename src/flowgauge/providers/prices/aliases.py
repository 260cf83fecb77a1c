"""Spellings of providers and models that the price package does not know.

Only names that mean one model without doubt. What has a price of its own in
the package needs no row here; a test holds that every row still leads to one.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

LOCAL: frozenset[str] = frozenset(
    {"ollama", "vllm", "lmstudio", "lm-studio", "lm_studio", "llamacpp", "llama-cpp", "llama_cpp", "local", "localai", "tgi", "sglang"}
)
"""They run on the user's own machine: no price unless an override file gives one."""

PROVIDERS: Mapping[str, str] = {
    "azure-openai": "azure",
    "azure_openai": "azure",
    "bedrock": "aws",
    "gemini": "google",
    "google-gla": "google",
    "google-vertex": "google",
    "grok": "x-ai",
    "moonshot": "moonshotai",
    "together-ai": "together",
    "together_ai": "together",
    "vertex": "google",
    "xai": "x-ai",
}

MODELS: Mapping[str, str] = {
    "anthropic/claude-haiku": "claude-3-5-haiku",
    "anthropic/claude-haiku-3": "claude-3-haiku",
    "anthropic/claude-haiku-3-5": "claude-3-5-haiku",
    "anthropic/claude-opus-3": "claude-3-opus",
    "anthropic/claude-sonnet-3-5": "claude-3-5-sonnet",
    "anthropic/claude-sonnet-3-7": "claude-3-7-sonnet",
    "openai/chatgpt-4o": "chatgpt-4o-latest",
}


def parted(model_name: str) -> tuple[str, str]:
    """Provider and model, split at the first slash; `library:openai` is priced as openai."""
    provider, _, model = model_name.partition("/")
    provider = provider.lower().rpartition(":")[2]
    return PROVIDERS.get(provider, provider), model.lower()


def spellings(provider: str, model: str) -> tuple[str, ...]:
    """The names to look up, the asked one first: an alias, dots for dashes between digits, without a region."""
    dashed = re.sub(r"(?<=\d)\.(?=\d)", "-", model)
    dotted = re.sub(r"(?<=-\d)-(?=\d(?:-|$))", ".", model)
    alias = MODELS.get(f"{provider}/{dashed}")
    bare = re.sub(r"^(?:[a-z]{2,6}\.)?(anthropic|amazon|meta|mistral|cohere)\.", "", model) if provider == "aws" else model
    return tuple(dict.fromkeys(name for name in (alias, model, dashed, dotted, bare) if name))

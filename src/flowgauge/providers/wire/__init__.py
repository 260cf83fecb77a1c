"""Our own thin wire dialects over aiohttp: OpenAI-compatible chat and Anthropic messages."""

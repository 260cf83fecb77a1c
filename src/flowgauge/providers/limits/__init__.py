"""One limiter a provider: requests, tokens, calls at once; adaptive."""

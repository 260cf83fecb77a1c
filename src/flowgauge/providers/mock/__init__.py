"""The mock provider: deterministic answers, latencies, prices and faults, in process and as a server."""

"""Who calls a model in saturation.py and fidelity.py."""

from __future__ import annotations

from benchmarks.peers.field import Peer

AT_ONCE = 100
COUNT = 2000
FLOOR = "bare aiohttp loop"
OURS = "flowgauge bench"
CALLERS = (
    Peer(FLOOR, "with_bare", "calls", "aiohttp"),
    Peer(OURS, "with_flowgauge", "calls", "flowgauge"),
    Peer("openai SDK in a loop", "with_openai", "calls", "openai"),
    Peer("pydantic-evals", "with_pydantic_evals", "calls", "pydantic_evals"),
    Peer("promptfoo", "with_promptfoo", "calls", "promptfoo", share=0.5),
    Peer("Inspect AI", "with_inspect", "calls", "inspect_ai", share=0.25),
)

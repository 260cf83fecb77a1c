"""The scenario that runs when none is named: offline, deterministic, with agents that work for their answers."""

from __future__ import annotations

from pathlib import Path

SCENARIO = Path(__file__).parent / "scenario.yaml"

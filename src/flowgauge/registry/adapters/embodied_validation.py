"""embodied_validation: performance, forgetting and memory of an embodied agent."""

from __future__ import annotations

from flowgauge.registry.adapters.packaged import packaged

ROW = packaged("embodied_validation", min_vram_gb=2)

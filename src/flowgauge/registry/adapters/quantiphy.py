"""quantiphy: a benchmark of reasoning about physics."""

from __future__ import annotations

from flowgauge.registry.adapters.packaged import packaged

ROW = packaged("quantiphy", min_vram_gb=4)

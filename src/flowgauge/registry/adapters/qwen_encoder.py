"""qwen_encoder: tokens a second of an encoder."""

from __future__ import annotations

from flowgauge.registry.adapters.packaged import packaged

ROW = packaged("qwen_encoder", min_vram_gb=2)

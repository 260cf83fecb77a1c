"""The built-in adapters by name."""

from __future__ import annotations

from flowgauge.registry.adapters import embodied_validation, guardrail, model_registry, quantiphy, qwen_encoder, regression, world_model
from flowgauge.registry.adapters.built_in import BuiltIn

BUILT_IN: dict[str, BuiltIn] = {
    row.name: row
    for row in (
        model_registry.ROW,
        world_model.ROW,
        regression.ROW,
        guardrail.ROW,
        quantiphy.ROW,
        embodied_validation.ROW,
        qwen_encoder.ROW,
    )
}

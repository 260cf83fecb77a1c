"""The JSON Schema of bench files (draft 2020-12), made from the structs that the loader uses.

Nothing in, a schema out. A check's settings may stand beside its type, so a
check is open; everything else is closed.
"""

from __future__ import annotations

from typing import Any

import msgspec

from flowgauge.define.bench_file import BenchFile
from flowgauge.define.schema import DIALECT


def bench_json_schema() -> dict[str, Any]:
    """For editors and for other programs: `flowgauge schema bench` prints it."""
    _, parts = msgspec.json.schema_components([BenchFile], ref_template="#/$defs/{name}")
    bench = parts.pop("BenchFile")
    parts["CheckSpec"]["additionalProperties"] = True
    dataset = bench["properties"]["dataset"]
    several = {key: dataset[key] for key in ("type", "items")}
    bench["properties"]["dataset"] = {"anyOf": [{"type": "string"}, several], "description": dataset["description"]}
    for part in ("Case", "Configuration", "StateVariant"):
        parts[part]["properties"]["name"] |= {"minLength": 1, "maxLength": 200}
    return {"$schema": DIALECT, "title": "Flowgauge bench", **bench, "$defs": dict(sorted(parts.items()))}

"""The JSON Schema of plain metrics files (draft 2020-12), made from the structs that the reader uses.

Nothing in, a schema out. It cannot say that a name ending in `_ms` is in ms, nor which
text cannot be shown.
"""

from __future__ import annotations

from typing import Any

import msgspec

from flowgauge.define.ingest.format import LONGEST_LINE
from flowgauge.define.ingest.metrics import COMMIT, METRIC_NAME, SubjectEntry
from flowgauge.define.schema import DIALECT

_NUMBER = {"type": "number", "minimum": -1e100, "maximum": 1e100}
_NUMBERS = {"type": "array", "items": _NUMBER, "minItems": 1}
_BY_CASE = {"type": "object", "additionalProperties": _NUMBERS, "minProperties": 1, "propertyNames": {"minLength": 1}}


def metrics_json_schema() -> dict[str, Any]:
    """For editors and for other programs: `flowgauge schema metrics` prints it."""
    _, parts = msgspec.json.schema_components([SubjectEntry], ref_template="#/$defs/{name}")
    subject, metric = parts["SubjectEntry"]["properties"], parts["MetricEntry"]
    subject["subject"] |= {"minLength": 1, "maxLength": LONGEST_LINE}
    subject["metrics"] |= {"minProperties": 1, "propertyNames": {"pattern": METRIC_NAME}}
    subject["commit"]["pattern"] = COMMIT
    subject["measured_at"]["anyOf"] = [{"type": "string", "format": "date-time"}, {"type": "integer", "minimum": 0}, {"type": "null"}]
    metric["properties"]["samples"]["anyOf"] = [_NUMBERS, _BY_CASE, {"type": "null"}]
    metric["anyOf"] = [{"required": ["value"]}, {"required": ["samples"], "properties": {"samples": {"not": {"type": "null"}}}}]
    one = {"$ref": "#/$defs/SubjectEntry"}
    return {
        "$schema": DIALECT,
        "title": "Flowgauge metrics",
        "anyOf": [one, {"type": "array", "items": one, "minItems": 1}],
        "$defs": dict(sorted(parts.items())),
    }

"""Figures of a whole system: adapters that measure it, snapshots of its versions, and whether one may take another's place.

`register_benchmark(adapter)` makes an adapter of your own known to this process.
"""

from __future__ import annotations

from flowgauge.registry.discovery import register_benchmark as register_benchmark
from flowgauge.registry.discovery import unregister_benchmark as unregister_benchmark

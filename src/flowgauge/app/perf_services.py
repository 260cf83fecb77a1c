"""What a perf worker opens once: found by its name, because workers stand below this floor."""

from __future__ import annotations

from flowgauge.app.services import ProcessServices
from flowgauge.providers.gateway import LiveGateway
from flowgauge.providers.recordings.tapes import Live

SERVICES = "flowgauge.app.perf_services:worker_services"


def worker_services() -> ProcessServices:
    """Models, python workers and HTTP for the episodes of one worker process; each episode brings its own tape."""
    return ProcessServices(LiveGateway(), Live())

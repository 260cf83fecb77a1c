"""What a schedule asks for, as a bench of its own for each moment."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING

from flowgauge.app.bench import load
from flowgauge.app.operations.benches import BenchmarkStart, bench_request
from flowgauge.errors import BadParameter
from flowgauge.model.workflow import Json

if TYPE_CHECKING:
    from flowgauge.model.service import Schedule
    from flowgauge.store.store import Store


def bench_id_of(schedule: Schedule) -> str:
    """`nightly-20260131-030000`: the same for a moment, whoever runs it, so that it is begun once."""
    moment = datetime.datetime.fromtimestamp(schedule.running_at / 1000, datetime.UTC)
    rest = schedule.running_at % 1000
    return f"{schedule.name}-{moment:%Y%m%d-%H%M%S}{f'{rest:03}' if rest else ''}"


def params_of(request: dict[str, Json], bench_id: str = "") -> BenchmarkStart:
    """Raises BadParameter for what `benchmark_start` does not take."""
    from flowgauge.app.operations.calling import find_operation, read_params

    if "bench_id" in request:
        raise BadParameter("bench_id", "A schedule names its benches itself.", remedy="Leave bench_id out.")
    params = read_params(find_operation("benchmark_start"), {**request, "bench_id": bench_id})
    assert isinstance(params, BenchmarkStart)
    return params


def check_request(store: Store, request: dict[str, Json]) -> None:
    """Defines the bench as it would be now, and stores nothing. Raises what is wrong with it."""
    load(store, bench_request(store, params_of(request)))

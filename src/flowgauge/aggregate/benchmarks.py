"""A summary → one Benchmark a configuration, with the fingerprint that says what it may be compared with.

The sid is made from the bench and the configuration: aggregating the same
bench again gives the same benchmark, not a second one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from flowgauge.model.bench import Bench, CheckSpec, Configuration
from flowgauge.model.benchmark import Benchmark, BenchSummary, ConfigurationStats, Fingerprint
from flowgauge.model.ids import BENCHMARK, content_hash
from flowgauge.model.workflow import Json

_RETRYING = ("max_retries", "retry", "timeout_s")


def to_benchmarks(
    summary: BenchSummary,
    *,
    workflow_sid: str = "",
    version_sids: Mapping[str, str] | str = "",
    providers: Mapping[str, Iterable[str]] | None = None,
    retry_policy: Json = None,
    difficulty: float = 0.5,
    created_at: int = 0,
) -> list[Benchmark]:
    """In the order of the configurations; one that was never run has no measurement and no benchmark.

    `version_sids`, `providers`: by configuration; a plain sid holds for all.
    """
    record = summary.bench
    moment = created_at or record.finished_at or record.created_at
    dataset = dataset_digest(record.definition)
    made = []
    for stats in summary.configs:
        if not stats.overall.runs:
            continue
        fingerprint = fingerprint_of(
            record.definition,
            record.price_table,
            record.machine,
            config=stats.name,
            providers=(providers or {}).get(stats.name, ()),
            retry_policy=retry_policy,
            dataset=dataset,
        )
        version = version_sids if isinstance(version_sids, str) else version_sids.get(stats.name, "")
        made.append(_benchmark(summary, stats, fingerprint, (workflow_sid, version), difficulty, moment))
    return made


def _benchmark(
    summary: BenchSummary, stats: ConfigurationStats, fingerprint: Fingerprint, sids: tuple[str, str], difficulty: float, moment: int
) -> Benchmark:
    record, overall = summary.bench, stats.overall
    time_ms = overall.duration_ms
    return Benchmark(
        sid=f"{BENCHMARK}_{moment:011x}{_digest([record.uid, stats.name])[:10]}",
        bench_uid=record.uid,
        bench_id=record.bench_id,
        config=stats.name,
        workflow_sid=sids[0],
        workflow_version_sid=sids[1],
        created_at=moment,
        num_runs=overall.runs,
        success_rate=100 * (overall.success.value or 0.0),
        avg_duration_ms=time_ms.mean if time_ms else None,
        min_duration_ms=time_ms.min if time_ms else None,
        max_duration_ms=time_ms.max if time_ms else None,
        total_retries=overall.retries,
        avg_tokens_prompt=overall.tokens_prompt_mean,
        avg_tokens_completion=overall.tokens_completion_mean,
        estimated_cost_usd=overall.cost_usd_mean,
        cost_source=overall.cost_source,
        difficulty_rating=difficulty,
        notes="\n".join(note for note in summary.notes if _concerns(note, stats.name, summary)),
        stats=stats,
        fingerprint=fingerprint,
        tags=dict(record.definition.tags),
        commit=record.commit,
    )


def _concerns(note: str, config: str, summary: BenchSummary) -> bool:
    """Is it about this configuration, or about all?"""
    return not any(note.startswith(f"{other.name}: ") for other in summary.configs if other.name != config)


def dataset_digest(bench: Bench) -> str:
    """Of all cases, in whatever order they are."""
    return _digest([[case.name, case.inputs, case.expected] for case in sorted(bench.cases, key=lambda case: case.name)])


def fingerprint_of(
    bench: Bench,
    price_table: str,
    machine: str,
    *,
    config: str = "",
    providers: Iterable[str] = (),
    retry_policy: Json = None,
    dataset: str = "",
) -> Fingerprint:
    """Of one configuration, or of all where none is named.

    `providers` and `retry_policy` are what the target itself says (a workflow's
    own config); what configurations lay over it is read from them. `dataset` is the cases' digest, where it is known.
    """
    laid = [one for one in bench.configs if config in ("", one.name)]
    specs = (*bench.checks, *(spec for case in bench.cases for spec in case.checks))
    judges = [spec for spec in specs if spec.type == "judge"]
    return Fingerprint(
        dataset=dataset or dataset_digest(bench),
        checks=_digest_of_specs(spec for spec in specs if spec.type != "judge"),
        judge=_digest_of_specs(judges),
        price_table=price_table,
        provider=", ".join(sorted({*providers, *(name for one in laid for name in _providers(one))})),
        cache="on" if bench.cache else "off",
        machine=machine,
        retry_policy=_retry_digest(bench, laid, retry_policy),
    )


def _digest_of_specs(specs: Iterable[CheckSpec]) -> str:
    """Empty where there is none. A check that many cases share counts once, and order does not matter."""
    forms = sorted({_canonical(spec) for spec in specs})
    return content_hash(b"\n".join(forms)) if forms else ""


def _retry_digest(bench: Bench, laid: list[Configuration], own: Json) -> str:
    """Empty where nobody says anything about retries or time limits."""
    said = [found for one in laid if (found := _retrying(one.workflow_overrides))]
    if not said and own is None and bench.timeout_s is None:
        return ""
    return _digest([own, bench.timeout_s, said])


def _retrying(overrides: Json) -> dict[str, Json]:
    """Every setting about retries in a tree of overrides, by its path."""
    found: dict[str, Json] = {}
    for key, value in overrides.items() if isinstance(overrides, dict) else ():
        if key in _RETRYING:
            found[key] = value
        else:
            found.update({f"{key}.{inner}": kept for inner, kept in _retrying(value).items()})
    return found


def _providers(config: Configuration) -> Iterable[str]:
    """Named by the configuration itself or by the config of one of its nodes."""
    overrides = config.workflow_overrides
    nodes = overrides.get("nodes")
    inner = [node.get("config") for node in nodes.values() if isinstance(node, dict)] if isinstance(nodes, dict) else []
    for settings in (overrides.get("config"), *inner):
        if isinstance(settings, dict):
            yield from _provider(settings)


def _provider(settings: dict[str, Json]) -> Iterable[str]:
    provider, model = settings.get("provider"), settings.get("model")
    if isinstance(provider, str) and provider:
        yield provider
    elif isinstance(model, str) and "/" in model:
        yield model.split("/", 1)[0]


def _digest(value: Json) -> str:
    return content_hash(_canonical(value))


def _canonical(value: Json) -> bytes:
    return msgspec.json.encode(value, order="deterministic")

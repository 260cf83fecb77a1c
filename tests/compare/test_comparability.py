"""What is not alike is said, with what it means."""

from __future__ import annotations

import msgspec
import pytest

from flowgauge.compare.comparability import differences, refused, touches
from flowgauge.model.benchmark import Fingerprint

METRICS = {
    "success_rate": "", "score.tone": "", "duration_ms": "ms", "first_token_ms": "ms", "cost_usd": "USD", "tokens_prompt": "tokens",
    "test_sort": "s", "memory": "MB",
}  # fmt: skip
ALL = set(METRICS)
LATENCY, COST = {"duration_ms", "first_token_ms", "test_sort"}, {"cost_usd"}


@pytest.mark.parametrize(
    ("what", "touched"),
    [
        pytest.param("dataset", ALL, id="other cases touch everything"),
        pytest.param("provider", ALL, id="another provider touches everything"),
        pytest.param("checks", {"success_rate", "score.tone"}, id="other checks touch rates and scores"),
        pytest.param("judge", {"success_rate", "score.tone"}, id="another judge touches rates and scores"),
        pytest.param("price_table", COST, id="another price table touches cost alone"),
        pytest.param("cache", LATENCY | COST, id="a cache touches latency and cost"),
        pytest.param("machine", LATENCY, id="another machine touches whatever is a time"),
        pytest.param("retry_policy", {"success_rate", "duration_ms", "first_token_ms", "test_sort", "tokens_prompt"} | COST, id="retries"),
    ],
)
def test_every_difference_says_what_it_touches(what: str, touched: set[str]) -> None:
    (found,) = differences(
        msgspec.structs.replace(Fingerprint(), **{what: "this"}), msgspec.structs.replace(Fingerprint(), **{what: "that"})
    )
    assert (found.what, found.candidate, found.baseline) == (what, "this", "that")
    assert "this against that" in found.words
    assert {metric for metric, unit in METRICS.items() if touches(found, metric, unit)} == touched


def test_every_entry_of_a_fingerprint_is_known() -> None:
    one = Fingerprint(**dict.fromkeys(Fingerprint.__struct_fields__, "x"))
    other = Fingerprint(**dict.fromkeys(Fingerprint.__struct_fields__, "y"))
    assert tuple(found.what for found in differences(one, other)) == Fingerprint.__struct_fields__
    assert differences(one, one) == ()


def test_hashes_are_cut_short_and_what_is_missing_is_named() -> None:
    (dataset, machine) = differences(Fingerprint(dataset="0123456789abcdef", machine=""), Fingerprint(dataset="", machine="2 × x86_64"))
    assert (dataset.candidate, dataset.baseline) == ("0123456789ab", "none")
    assert (machine.candidate, machine.baseline) == ("unknown", "2 × x86_64")


def test_what_is_allowed_is_not_refused() -> None:
    found = differences(Fingerprint(machine="a", cache="on"), Fingerprint(machine="b"))
    assert [one.what for one in refused(found, ["machine"])] == ["cache"]

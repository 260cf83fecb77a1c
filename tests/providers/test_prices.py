"""Prices are right, say where they come from, and unknown is never zero."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from flowgauge.errors import BadFile
from flowgauge.providers.mock.profiles import BUILT_IN, Price, Profile
from flowgauge.providers.prices.aliases import MODELS
from flowgauge.providers.prices.table import PriceTable, table
from flowgauge.providers.provider import Reply


@pytest.fixture(scope="module")
def prices() -> PriceTable:
    return PriceTable(mock_profiles=BUILT_IN)


@pytest.mark.parametrize(
    ("model", "prompt", "completion"),
    [
        ("openai/gpt-4o-mini", 0.00015, 0.0006),
        ("openai/gpt-4o", 0.0025, 0.01),
        ("openai/gpt-5-pro", 0.015, 0.12),
        ("anthropic/claude-haiku", 0.0008, 0.004),
        ("anthropic/claude-sonnet-4.6", 0.003, 0.015),
        ("anthropic/claude-sonnet-4-6", 0.003, 0.015),
        ("anthropic/claude-opus-4", 0.015, 0.075),
        ("library:openai/gpt-4o", 0.0025, 0.01),
        ("OpenAI/GPT-4o", 0.0025, 0.01),
        ("gemini/gemini-2.5-flash", 0.0003, 0.0025),
        ("openrouter/openai/gpt-4o", 0.0025, 0.01),
        ("mock/default", 0.00015, 0.0006),
        ("mock/expensive", 0.015, 0.075),
    ],
)
def test_a_thousand_tokens_cost(prices: PriceTable, model: str, prompt: float, completion: float) -> None:
    assert prices.estimate(model, 1000, 0) == pytest.approx(prompt, rel=1e-9)
    assert prices.estimate(model, 0, 1000) == pytest.approx(completion, rel=1e-9)


@pytest.mark.parametrize(
    "model", ["openai/gpt-99", "nobody/model", "openai", "", "/", "mock/nobody", "ollama/llama3", "vllm/gpt-4o", "lmstudio/gpt-4o"]
)
def test_what_nobody_prices_is_unpriced_and_not_free(prices: PriceTable, model: str) -> None:
    assert prices.cost(model, Reply(tokens_prompt=10, tokens_completion=10)) == (None, "unpriced")
    assert prices.estimate(model, 10, 10) is None


def test_a_model_that_the_package_lists_without_a_price_is_unpriced(prices: PriceTable) -> None:
    from genai_prices.data import providers
    from genai_prices.types import ModelPrice

    bare = [
        f"{provider.id}/{model.id}"
        for provider in providers
        for model in provider.models
        if isinstance(model.prices, ModelPrice) and not any(model.prices.__dict__.values())
    ]
    assert bare
    assert {prices.estimate(name, 1000, 1000) for name in bare[:5]} <= {None, 0.0}
    listed = {(row.provider, row.model) for row in prices.known()}
    empty = [name for name in bare if prices.estimate(name, 1, 1) is None]
    assert not any(tuple(name.split("/", 1)) in listed for name in empty)


def test_what_the_provider_says_it_charged_wins(prices: PriceTable) -> None:
    assert prices.cost("openai/gpt-4o", Reply(tokens_prompt=1000, cost_usd=0.5)) == (0.5, "provider")
    assert prices.cost("nobody/model", Reply(tokens_prompt=1000, cost_usd=0.0)) == (0.0, "provider")


def test_cached_and_written_tokens_have_their_own_price(prices: PriceTable) -> None:
    reply = Reply(tokens_prompt=1_000_000, tokens_cached=400_000, tokens_cache_written=100_000, tokens_completion=0)
    cost, source = prices.cost("anthropic/claude-opus-4", reply)
    assert cost == pytest.approx(0.5 * 15 + 0.4 * 1.5 + 0.1 * 18.75)
    assert source == "computed"


def test_a_long_prompt_costs_what_its_tier_says(prices: PriceTable) -> None:
    assert prices.estimate("google/gemini-2.5-pro", 200_000, 0) == pytest.approx(0.2 * 1.25)
    assert prices.estimate("google/gemini-2.5-pro", 200_001, 0) == pytest.approx(0.200001 * 2.5)


def test_every_model_costs_what_the_package_itself_computes(prices: PriceTable) -> None:
    from genai_prices import Usage, calc_price
    from genai_prices.data import providers

    usage = Usage(input_tokens=300_000, output_tokens=1000, cache_read_tokens=2000, cache_write_tokens=500)
    reply = Reply(tokens_prompt=300_000, tokens_completion=1000, tokens_cached=2000, tokens_cache_written=500)
    compared = 0
    for provider in providers:
        for model in provider.models:
            mine = prices.cost(f"{provider.id}/{model.id}", reply)[0]
            if mine is None:
                continue
            try:
                theirs = calc_price(usage, model.id, provider_id=provider.id).total_price
            except (LookupError, ValueError):
                continue
            assert mine == pytest.approx(float(theirs), rel=1e-9, abs=1e-12), f"{provider.id}/{model.id}"
            compared += 1
    assert compared > 1500


@pytest.mark.parametrize("alias", sorted(MODELS))
def test_every_alias_still_leads_to_a_price(prices: PriceTable, alias: str) -> None:
    assert prices.estimate(alias, 1000, 1000)


def test_an_override_file_lies_on_top_and_is_named_in_the_label(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "openai/gpt-4o: {prompt_per_1m: 1, completion_per_1m: 2, cached_per_1m: 0.5}\n"
        "ollama/llama3: {prompt_per_1m: 0, completion_per_1m: 0}\n"
        "mock/default: {prompt_per_1m: 9, completion_per_1m: 9}\n"
    )
    mine = PriceTable(file, mock_profiles=BUILT_IN)
    reply = Reply(tokens_prompt=1_000_000, tokens_cached=500_000, tokens_completion=1_000_000)
    assert mine.cost("openai/gpt-4o", reply) == (2.75, "computed")
    assert mine.cost("library:openai/gpt-4o", reply) == (2.75, "computed")
    assert mine.cost("ollama/llama3", reply) == (0.0, "computed")
    assert mine.estimate("mock/default", 1_000_000, 0) == 9
    assert mine.estimate("openai/gpt-4o-mini", 1000, 0) == pytest.approx(0.00015)
    package, _, own = mine.label.partition(" + ")
    assert package == PriceTable(mock_profiles=BUILT_IN).label
    assert package.startswith("genai-prices ")
    assert own.startswith("prices.yaml@")
    assert len(own) == len("prices.yaml@") + 8


def test_json_works_as_an_override_file_too(tmp_path: Path) -> None:
    file = tmp_path / "prices.json"
    file.write_text('{"acme/x": {"prompt_per_1m": 1, "completion_per_1m": 2}}')
    assert PriceTable(file, mock_profiles=BUILT_IN).estimate("acme/x", 1_000_000, 1_000_000) == 3


def test_every_mistake_in_an_override_file_is_listed_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text(
        "gpt-4o: {prompt_per_1m: 1, completion_per_1m: 2}\n"
        "a/one:\n"
        "  prompt_per_1m: cheap\n"
        "  completion_per_1m: -1\n"
        "a/two: {prompt_per_1m: 1}\n"
        "a/three: {prompt_per_1m: 1, completion_per_1m: 1, promt: 1}\n"
        "a/four: 7\n"
    )
    with pytest.raises(BadFile) as bad:
        PriceTable(file, mock_profiles=BUILT_IN)
    assert [(problem.line, problem.where) for problem in bad.value.problems] == [
        (1, "gpt-4o"),
        (3, "a/one.prompt_per_1m"),
        (4, "a/one.completion_per_1m"),
        (5, "a/two.completion_per_1m"),
        (6, "a/three.promt"),
        (7, "a/four"),
    ]
    assert str(file) in str(bad.value)


def test_known_lists_every_price_once_with_its_source(tmp_path: Path) -> None:
    file = tmp_path / "prices.yaml"
    file.write_text("openai/gpt-4o: {prompt_per_1m: 1, completion_per_1m: 2}\n")
    rows = list(PriceTable(file, mock_profiles=BUILT_IN).known())
    assert len({(row.provider, row.model) for row in rows}) == len(rows) > 1500
    by_name = {(row.provider, row.model): row for row in rows}
    assert by_name["openai", "gpt-4o"].source == "prices.yaml"
    assert by_name["mock", "expensive"].completion_per_1m == 75
    mini = by_name["openai", "gpt-4o-mini"]
    assert (mini.prompt_per_1m, mini.completion_per_1m, mini.source) == (0.15, 0.6, "genai-prices")


def test_profiles_bring_their_own_price() -> None:
    mine = PriceTable(mock_profiles={"dear": Profile(price=Price(prompt_per_1m=100, completion_per_1m=0))})
    assert mine.estimate("mock/dear", 1_000_000, 5) == 100


def test_the_table_of_the_process_reads_the_environment_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "mine.yaml"
    file.write_text("acme/x: {prompt_per_1m: 1, completion_per_1m: 2}\n")
    monkeypatch.setenv("FLOWGAUGE_PRICES", str(file))
    table.cache_clear()
    try:
        assert "mine.yaml@" in table().label
        assert table() is table()
    finally:
        table.cache_clear()


def test_pricing_the_mock_does_not_import_the_price_package() -> None:
    steps = (
        "import sys",
        "from flowgauge.providers.prices.table import table",
        "table().estimate('mock/default', 1, 1)",
        "assert table().label",
        "sys.exit('genai_prices' in sys.modules)",
    )
    assert subprocess.run([sys.executable, "-c", "; ".join(steps)], check=False).returncode == 0

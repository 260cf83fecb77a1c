"""The mock provider repeats itself, fails on demand and takes its time as told."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.errors import BadFile, Failed
from flowgauge.model.exchange import Message, ModelRequest
from flowgauge.model.play import Failure
from flowgauge.providers.mock.profiles import BUILT_IN, Fault, Profile, load_profiles
from flowgauge.providers.mock.provider import MockProvider
from flowgauge.providers.provider import Reply


class Still:
    """A clock that moves only when somebody sleeps."""

    def __init__(self) -> None:
        self.now_ms = 0.0

    async def sleep(self, seconds: float) -> None:
        self.now_ms += seconds * 1000


def mock(profiles: Mapping[str, Profile] | str | Path | None = None, still: Still | None = None) -> MockProvider:
    clock = still or Still()
    return MockProvider(profiles=BUILT_IN if profiles is None else profiles, sleep=clock.sleep, tick_ms=lambda: clock.now_ms)


def ask(text: str = "Tell me about the harbour", model: str = "default", **request: Any) -> ModelRequest:
    return ModelRequest(provider="mock", model=model, messages=(Message(role="user", text=text),), **request)


def outcome(provider: MockProvider, request: ModelRequest) -> Reply | Failure:
    try:
        return asyncio.run(provider.complete(request))
    except Failed as error:
        return error.failure


@settings(max_examples=40, deadline=None)
@given(
    texts=st.lists(st.sampled_from(["a", "b", "c or d?"]), max_size=12),
    seed=st.integers(0, 3),
    model=st.sampled_from(["default", "flaky", "ratelimited"]),
)
def test_the_same_history_gives_the_same_outcomes_and_other_requests_do_not_matter(texts: list[str], seed: int, model: str) -> None:
    requests = [ask(text, model, seed=seed) for text in texts]
    first, second, alone = mock(), mock(), mock()
    outcomes = [outcome(first, request) for request in requests]
    assert outcomes == [outcome(second, request) for request in requests]
    assert [outcome(alone, request) for request in requests if request == requests[0]] == [
        said for said, request in zip(outcomes, requests, strict=True) if request == requests[0]
    ]


def test_another_seed_gives_other_latencies_and_other_words() -> None:
    decisions = [mock().decide(ask(seed=seed)) for seed in range(20)]
    assert len({decision.latency_s for decision in decisions}) == 20
    assert len({decision.reply.text for decision in decisions}) > 3


def test_streaming_or_a_time_limit_change_nothing_of_the_answer() -> None:
    plain = outcome(mock(), ask())
    streamed = outcome(mock(), ask(stream=True, timeout_s=9.0))
    assert isinstance(plain, Reply)
    assert isinstance(streamed, Reply)
    assert msgspec.structs.replace(streamed, first_token_ms=None) == plain


def test_a_stream_brings_the_whole_text_in_pieces_and_says_when_the_first_came() -> None:
    still, heard = Still(), list[str]()
    reply = asyncio.run(mock(still=still).complete(ask(stream=True), on_text=heard.append))
    decision = mock().decide(ask(stream=True))
    assert "".join(heard) == reply.text
    assert len(heard) > 3
    assert reply.first_token_ms == pytest.approx(decision.first_token_s * 1000)
    assert still.now_ms == pytest.approx(decision.latency_s * 1000)


def test_latencies_lie_around_the_median() -> None:
    waits = sorted(mock().decide(ask(f"question {number}")).latency_s for number in range(301))
    assert waits[150] == pytest.approx(0.030, rel=0.1)
    assert waits[0] < 0.020 < 0.045 < waits[-1]
    assert mock().decide(ask(model="fast")).latency_s == 0


def test_an_answer_slower_than_the_time_limit_is_a_timeout_at_that_limit() -> None:
    still = Still()
    failure = outcome(mock(still=still), ask(timeout_s=0.5, extra={"mock": {"latency_ms": 9000}}))
    assert isinstance(failure, Failure)
    assert failure.kind == "timeout"
    assert still.now_ms == 500


def test_max_tokens_cuts_the_answer_and_says_so() -> None:
    reply = outcome(mock(), ask(max_tokens=3))
    assert isinstance(reply, Reply)
    assert (reply.finish, reply.tokens_completion, len(reply.text)) == ("length", 3, 12)


def test_ratelimited_succeeds_at_the_third_try_of_each_request() -> None:
    provider = mock()
    kinds = [getattr(outcome(provider, ask(text, "ratelimited")), "kind", "ok") for text in ("a", "a", "b", "a", "b", "b")]
    assert kinds == ["rate_limited", "rate_limited", "rate_limited", "ok", "rate_limited", "ok"]


def test_broken_always_fails_and_names_itself() -> None:
    provider = mock()
    for _ in range(5):
        failure = outcome(provider, ask(model="broken"))
        assert isinstance(failure, Failure)
        assert failure.kind == "provider_error"
        assert "broken" in failure.message


def test_flaky_fails_about_one_time_in_five_in_different_ways() -> None:
    provider = mock()
    decisions = [provider.decide(ask(f"{number}", "flaky")) for number in range(2000)]
    seen = Counter(decision.failure().kind if decision.fault else decision.reply.finish for decision in decisions)
    assert 0.17 < 1 - seen["stop"] / 2000 < 0.23
    assert {"provider_error", "rate_limited", "timeout", "length"} <= set(seen)


@pytest.mark.parametrize(
    ("fault", "kind"),
    [
        ({"kind": "rate_limited", "retry_after_s": 7}, "rate_limited"),
        ({"kind": "server_error"}, "provider_error"),
        ({"kind": "timeout", "hang_s": 3}, "timeout"),
        ({"kind": "malformed"}, "provider_error"),
        ({"kind": "disconnect"}, "connection"),
    ],
)
def test_each_fault_can_be_asked_for(fault: dict[str, Any], kind: str) -> None:
    failure = outcome(mock(), ask(extra={"mock": {"faults": [fault]}}))
    assert isinstance(failure, Failure)
    assert failure.kind == kind
    assert failure.retry_after_s == (7 if kind == "rate_limited" else None)


def test_spoilt_answers_are_answers_all_the_same() -> None:
    cut = outcome(mock(), ask(extra={"mock": {"faults": [{"kind": "truncated"}]}}))
    schema = {"type": "object", "properties": {"a": {"type": "integer"}}}
    broken = outcome(mock(), ask(schema=schema, extra={"mock": {"faults": [{"kind": "invalid_json"}]}}))
    assert isinstance(cut, Reply)
    assert cut.finish == "length"
    assert isinstance(broken, Reply)
    with pytest.raises(msgspec.DecodeError):
        msgspec.json.decode(broken.text)


@pytest.mark.parametrize(
    ("fault", "due"),
    [
        pytest.param(Fault(kind="timeout", first=2), [1, 2], id="the first two"),
        pytest.param(Fault(kind="timeout", every=3), [3, 6], id="every third"),
        pytest.param(Fault(kind="timeout", at=(2, 5)), [2, 5], id="the second and the fifth"),
        pytest.param(Fault(kind="timeout", rate=0.0), [], id="never"),
        pytest.param(Fault(kind="timeout"), [1, 2, 3, 4, 5, 6], id="always"),
    ],
)
def test_faults_follow_their_schedule(fault: Fault, due: list[int]) -> None:
    provider = mock({"default": Profile(faults=(fault,))})
    assert [n for n in range(1, 7) if isinstance(outcome(provider, ask()), Failure)] == due


def test_an_unknown_profile_is_refused_with_the_known_ones() -> None:
    failure = outcome(mock(), ask(model="gpt-9"))
    assert isinstance(failure, Failure)
    assert failure.kind == "provider_rejected"
    assert "expensive" in failure.message


def test_an_override_that_makes_no_sense_is_refused() -> None:
    failure = outcome(mock(), ask(extra={"mock": {"faults": [{"kind": "meteor"}]}}))
    assert isinstance(failure, Failure)
    assert failure.kind == "provider_rejected"
    assert "meteor" in failure.message


def test_one_answer_can_be_given_with_the_request() -> None:
    reply = outcome(
        mock(), ask(extra={"mock": {"answer": {"text": "As told.", "tokens_prompt": 5, "tokens_completion": 7, "tokens_cached": 2}}})
    )
    assert isinstance(reply, Reply)
    assert (reply.text, reply.tokens_prompt, reply.tokens_completion, reply.tokens_cached) == ("As told.", 5, 7, 2)


PROFILES = """\
profiles:
  support:
    like: fast
    price: {prompt_per_1m: 2.5, completion_per_1m: 10}
    answers:
      - {match: "(?i)refund", text: "Your refund is on its way."}
      - match: weather
        turns:
          - tool_calls: [{name: get_weather, arguments: {city: Paris}}]
          - text: It is sunny.
      - {match: pirate, on: system, text: "Arr."}
  patient:
    like: support
    faults: [{kind: server_error, first: 1}]
"""


def test_a_file_declares_scripts_by_pattern_with_successive_turns(tmp_path: Path) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_text(PROFILES)
    provider = mock(file)
    said = [outcome(provider, ask(text, "support")) for text in ("A REFUND, please", "the weather?", "the weather?", "the weather?")]
    texts = [reply.text for reply in said if isinstance(reply, Reply)]
    assert texts == ["Your refund is on its way.", "", "It is sunny.", "It is sunny."]
    assert isinstance(said[1], Reply)
    assert said[1].finish == "tool_calls"
    assert said[1].tool_calls[0].arguments == {"city": "Paris"}
    system = ModelRequest(
        provider="mock", model="support", messages=(Message(role="system", text="Be a pirate"), Message(role="user", text="Hi"))
    )
    assert getattr(outcome(provider, system), "text", "") == "Arr."
    assert isinstance(outcome(provider, ask("refund", "patient")), Failure)
    assert getattr(outcome(provider, ask("refund", "patient")), "text", "") == "Your refund is on its way."
    assert provider.profiles["patient"].price.prompt_per_1m == 2.5


def test_the_environment_names_a_file_of_profiles(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_text(PROFILES)
    monkeypatch.setenv("FLOWGAUGE_MOCK_PROFILES", str(file))
    assert {"support", "default"} <= set(load_profiles())


def test_every_mistake_in_a_file_is_listed_with_its_line(tmp_path: Path) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_text(
        "profiles:\n"
        "  one:\n"
        "    latency: {median_ms: -3}\n"
        "    colour: red\n"
        "    answers:\n"
        "      - {match: a, text: b}\n"
        "      - {match: a, txt: b}\n"
        "  two: {like: nobody}\n"
        "  three:\n"
        "    answers: [{match: '(', text: b}]\n"
    )
    with pytest.raises(BadFile) as bad:
        load_profiles(file)
    assert [(problem.line, problem.where) for problem in bad.value.problems] == [
        (3, "profiles.one.latency.median_ms"),
        (4, "profiles.one.colour"),
        (7, "profiles.one.answers[1]"),
        (8, "profiles.two.like"),
        (10, "profiles.three.answers[0].match"),
    ]


@pytest.mark.parametrize(
    ("content", "said"),
    [
        pytest.param(b"profiles: [", "not YAML", id="not YAML"),
        pytest.param(b"\xff\xfe", "UTF-8", id="not UTF-8"),
        pytest.param(b"profiles: {a: {}, a: {}}", "already", id="a key twice"),
        pytest.param(b"a: 1", "profiles", id="no profiles"),
        pytest.param(b"", "profiles", id="empty"),
        pytest.param(b"x" * 5_000_001, "larger", id="too large"),
    ],
)
def test_a_file_that_cannot_be_used_says_why(content: bytes, said: str, tmp_path: Path) -> None:
    file = tmp_path / "profiles.yaml"
    file.write_bytes(content)
    with pytest.raises(BadFile, match=said):
        load_profiles(file)


def test_a_file_that_is_not_there_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="no such file"):
        load_profiles(tmp_path / "none.yaml")

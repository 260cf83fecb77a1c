"""What was recorded is replayed as it was; what was not is never invented."""

from __future__ import annotations

import asyncio
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from flowgauge.errors import BadFile, Conflict, Failed, UsageError
from flowgauge.model.exchange import ModelResponse, ToolCall
from flowgauge.model.play import Failure, Usage
from flowgauge.model.redaction import redactor
from flowgauge.providers.recordings.tapes import Live, Recorder, Replayer, key_of

RESPONSE = ModelResponse(
    text="Hello", usage=Usage(tokens_prompt=3, tokens_completion=1, cost_usd=0.25, cost_source="computed"), duration_ms=12.5
)
REQUEST = {"model": "m", "messages": [{"role": "user", "text": "Say hello"}]}
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def giving(value: Any) -> Callable[[], Awaitable[Any]]:
    async def perform() -> Any:
        if isinstance(value, BaseException):
            raise value
        return value

    return perform


async def never() -> Any:
    raise AssertionError("a replay must ask nobody")


def play(
    tape: Live | Recorder | Replayer, request: Any, perform: Callable[[], Awaitable[Any]], answer: Any = ModelResponse, kind: str = "model"
) -> Any:
    async def main() -> Any:
        return await tape.exchange(kind, request, perform, answer)

    return asyncio.run(main())


def record(path: Path, *exchanges: tuple[Any, Any]) -> None:
    with Recorder(path) as tape:
        for request, value in exchanges:
            play(tape, request, giving(value), Any)


def test_live_lets_everything_through() -> None:
    assert play(Live(), REQUEST, giving(RESPONSE)) == RESPONSE


@settings(max_examples=60, deadline=None)
@given(exchanges=st.lists(st.tuples(st.sampled_from(["model", "http"]), JSON, JSON), max_size=8))
def test_a_replay_gives_what_was_recorded_turn_by_turn(exchanges: list[tuple[str, Any, Any]]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tape.jsonl"
        with Recorder(path, redact=redactor(())) as recorder:
            for kind, request, value in exchanges:
                assert play(recorder, request, giving(value), Any, kind) == value
        with Replayer(path, redact=redactor(())) as replayer:
            assert len(replayer) == len(exchanges)
            assert [play(replayer, request, never, Any, kind) for kind, request, _ in exchanges] == [value for _, _, value in exchanges]


def test_structs_come_back_as_they_were_with_their_timings(tmp_path: Path) -> None:
    answer = ModelResponse(
        text="é",
        tool_calls=(ToolCall(id="1", name="t", arguments={"a": [1, None]}),),
        finish="tool_calls",
        usage=Usage(cost_usd=None, cost_source="unpriced"),
        duration_ms=123.25,
        first_token_ms=4.5,
        queue_ms=1.0,
    )
    record(tmp_path / "tape", (REQUEST, answer))
    assert play(Replayer(tmp_path / "tape"), REQUEST, never) == answer


def test_failures_are_recorded_and_fail_again(tmp_path: Path) -> None:
    failure = Failure(kind="rate_limited", message="429", retry_after_s=2.0, detail="slow down")
    with Recorder(tmp_path / "tape") as tape:
        with pytest.raises(Failed):
            play(tape, REQUEST, giving(Failed(failure)))
        play(tape, REQUEST, giving(RESPONSE))
    replayer = Replayer(tmp_path / "tape")
    with pytest.raises(Failed) as failed:
        play(replayer, REQUEST, never)
    assert failed.value.failure == failure
    assert play(replayer, REQUEST, never) == RESPONSE


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        pytest.param(asyncio.CancelledError(), "timeout", id="cut off by a time limit"),
        pytest.param(KeyError("x"), "internal", id="a fault of the code"),
    ],
)
def test_an_exchange_that_did_not_end_leaves_no_gap_in_the_turns(error: BaseException, kind: str, tmp_path: Path) -> None:
    with Recorder(tmp_path / "tape") as tape:
        with pytest.raises(type(error)):
            play(tape, REQUEST, giving(error))
        play(tape, REQUEST, giving(RESPONSE))
    replayer = Replayer(tmp_path / "tape")
    with pytest.raises(Failed) as failed:
        play(replayer, REQUEST, never)
    assert failed.value.failure.kind == kind
    assert play(replayer, REQUEST, never) == RESPONSE


def test_turns_count_when_asked_not_when_answered(tmp_path: Path) -> None:
    async def main() -> None:
        with Recorder(tmp_path / "tape") as tape:
            gate = asyncio.Event()

            async def slow() -> str:
                await gate.wait()
                return "first"

            async def quick() -> str:
                gate.set()
                return "second"

            await asyncio.gather(tape.exchange("model", REQUEST, slow, str), tape.exchange("model", REQUEST, quick, str))

    asyncio.run(main())
    replayer = Replayer(tmp_path / "tape")
    assert [play(replayer, REQUEST, never, str) for _ in range(2)] == ["first", "second"]


def test_a_request_that_is_not_recorded_names_the_nearest_and_what_differs(tmp_path: Path) -> None:
    other = {"model": "m", "messages": [{"role": "user", "text": "Count the ships in the harbour, all of them"}]}
    record(tmp_path / "tape", (other, RESPONSE), (REQUEST, RESPONSE))
    asked = {"model": "m", "temperature": 0.5, "messages": [{"role": "user", "text": "Say goodbye"}]}
    with pytest.raises(Failed) as failed:
        play(Replayer(tmp_path / "tape"), asked, never)
    failure = failed.value.failure
    assert failure.kind == "not_recorded"
    assert key_of("model", asked)[:12] in failure.message
    assert key_of("model", REQUEST)[:12] in failure.message
    assert 'messages[0].text is "Say goodbye" here and "Say hello" there' in failure.message
    assert "temperature is 0.5 here and missing there" in failure.message
    assert "--record" in failure.message
    assert "Say goodbye" in failure.detail


def test_asking_once_more_than_recorded_is_not_recorded_either(tmp_path: Path) -> None:
    record(tmp_path / "tape", (REQUEST, RESPONSE))
    replayer = Replayer(tmp_path / "tape")
    play(replayer, REQUEST, never)
    with pytest.raises(Failed, match=r"2\. time") as failed:
        play(replayer, REQUEST, never)
    assert failed.value.failure.kind == "not_recorded"


def test_the_key_knows_kind_and_content_but_not_the_order_of_keys() -> None:
    assert key_of("model", {"a": 1, "b": 2}) == key_of("model", {"b": 2, "a": 1})
    assert len({key_of("model", {"a": 1}), key_of("http", {"a": 1}), key_of("model", {"a": 2})}) == 3


def test_secrets_are_neither_written_nor_part_of_the_key(tmp_path: Path) -> None:
    secret, other = 'hunter2-"quoted"', "another-machine's-secret"
    request = {"header": f"Bearer {secret}", secret: 1}
    path = tmp_path / "tape"
    with Recorder(path, redact=redactor([secret])) as tape:
        play(tape, request, giving({"echo": secret, "count": 12345678}), Any)
        with pytest.raises(Failed):
            play(tape, {"x": 1}, giving(Failed(Failure(kind="http_status", message=f"401 for {secret}"))))
    assert "hunter2" not in path.read_text()
    elsewhere = Replayer(path, redact=redactor([other]))
    assert play(elsewhere, {"header": f"Bearer {other}", other: 1}, never, Any) == {"echo": "[redacted]", "count": 12345678}


def test_a_number_that_equals_a_secret_does_not_break_the_file(tmp_path: Path) -> None:
    with Recorder(tmp_path / "tape", redact=redactor(["12345678"])) as tape:
        play(tape, {"pin": "12345678"}, giving({"n": 12345678}), Any)
    assert play(Replayer(tmp_path / "tape", redact=redactor(["12345678"])), {"pin": "12345678"}, never, Any) == {"n": 12345678}


def test_a_crash_loses_nothing_that_was_over(tmp_path: Path) -> None:
    tape = Recorder(tmp_path / "tape")
    play(tape, REQUEST, giving(RESPONSE))
    replayer = Replayer(tmp_path / "tape")
    assert play(replayer, REQUEST, never) == RESPONSE
    assert not replayer.warnings
    tape.close()


@settings(max_examples=30, deadline=None)
@given(cut=st.integers(1, 10_000))
def test_a_file_cut_anywhere_replays_what_is_whole_and_can_be_appended_to(cut: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "tape"
        record(path, *(({"n": number}, number) for number in range(3)))
        content = path.read_bytes()
        header = content.index(b"\n") + 1
        kept = content[: header + cut % (len(content) - header)]
        path.write_bytes(kept)
        whole = min(3, kept.count(b"\n") - 1)
        replayer = Replayer(path)
        assert len(replayer) == whole
        assert bool(replayer.warnings) == (not kept.endswith(b"\n"))
        assert [play(replayer, {"n": number}, never, int) for number in range(whole)] == list(range(whole))
        with Recorder(path, append=True) as tape:
            play(tape, {"n": 0}, giving(100), int)
        again = Replayer(path)
        assert not again.warnings
        assert [play(again, {"n": 0}, never, int) for _ in range(2 if whole else 1)] == ([0, 100] if whole else [100])


def test_appending_goes_on_with_the_turns(tmp_path: Path) -> None:
    record(tmp_path / "tape", (REQUEST, 1))
    with Recorder(tmp_path / "tape", append=True) as tape:
        play(tape, REQUEST, giving(2), int)
    replayer = Replayer(tmp_path / "tape")
    assert [play(replayer, REQUEST, never, int) for _ in range(2)] == [1, 2]


def test_an_existing_recording_is_not_overwritten(tmp_path: Path) -> None:
    record(tmp_path / "tape", (REQUEST, 1))
    with pytest.raises(Conflict, match="exists already"):
        Recorder(tmp_path / "tape")


def test_a_closed_recorder_says_so(tmp_path: Path) -> None:
    tape = Recorder(tmp_path / "tape")
    tape.close()
    tape.close()
    with pytest.raises(UsageError, match="closed"):
        play(tape, REQUEST, giving(1))


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


@pytest.mark.parametrize(
    ("damage", "line", "said"),
    [
        pytest.param(lambda rows: [rows[0], b"{nonsense\n", *rows[2:]], 2, "damaged", id="a damaged line"),
        pytest.param(lambda rows: [b'{"format":"other","version":1}\n', *rows[1:]], 1, "no recording", id="another format"),
        pytest.param(lambda rows: [b'{"format":"flowgauge-recording","version":2}\n', *rows[1:]], 1, "Version 2", id="a newer version"),
        pytest.param(lambda rows: [rows[0], rows[1], rows[1]], 3, "second time", id="a line twice"),
        pytest.param(lambda rows: [rows[0], rows[2], rows[3]], 3, "seal", id="a line taken out of a sealed file"),
        pytest.param(lambda rows: [*rows, rows[1]], 5, "after the seal", id="a line after the seal"),
        pytest.param(lambda rows: [rows[0], b'{"kind":"a","key":"b","turn":0,"request":1,"duration_ms":1}\n'], 2, "either", id="no answer"),
        pytest.param(lambda rows: [], 0, "empty", id="an empty file"),
        pytest.param(lambda rows: [b"\xff\xfe\n"], 1, "damaged", id="not text"),
    ],
)
def test_a_damaged_recording_is_refused_with_the_line(
    damage: Callable[[list[bytes]], list[bytes]], line: int, said: str, tmp_path: Path
) -> None:
    path = tmp_path / "tape"
    record(path, ({"n": 1}, 1), ({"n": 2}, 2))
    path.write_bytes(b"".join(damage(lines(path))))
    with pytest.raises(BadFile, match=said) as bad:
        Replayer(path)
    assert bad.value.problems[0].line == line


def test_a_missing_recording_says_so(tmp_path: Path) -> None:
    with pytest.raises(BadFile, match="cannot be read"):
        Replayer(tmp_path / "none")


def test_the_file_is_json_lines_that_people_can_read(tmp_path: Path) -> None:
    record(tmp_path / "tape", (REQUEST, RESPONSE))
    header, exchange, seal = (msgspec.json.decode(row) for row in lines(tmp_path / "tape"))
    assert header["format"] == "flowgauge-recording"
    assert header["version"] == 1
    assert set(exchange) == {"kind", "key", "turn", "request", "response", "duration_ms"}
    assert exchange["key"] == key_of("model", REQUEST)
    assert exchange["request"] == REQUEST
    assert seal["exchanges"] == 1

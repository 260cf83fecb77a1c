"""JSON-RPC 2.0 over HTTP: what the specification asks for, and what this server refuses."""

from __future__ import annotations

import json
import logging
from typing import Any

import msgspec
import pytest
from tests.serve.serving import JSON, Served

from flowgauge.app.operations.table import OPERATIONS
from flowgauge.serve.limits import Limits

HEALTH = {"jsonrpc": "2.0", "method": "health", "id": 1}


def ask(server: Served, value: Any) -> Any:
    reply = server.post(value if isinstance(value, bytes) else json.dumps(value).encode())
    assert reply.status == 200, reply
    assert reply.headers["content-type"] == "application/json"
    return reply.json


def test_a_call_is_answered_with_its_id_and_its_result(server: Served) -> None:
    answer = ask(server, HEALTH)
    assert (answer["jsonrpc"], answer["id"]) == ("2.0", 1)
    assert answer["result"]["status"] == "ok"
    assert set(answer) == {"jsonrpc", "id", "result"}


@pytest.mark.parametrize("number", ['"a"', '""', "0", "-7", "2.5", "null", "123456789012345678901234567890", '"ünï"'])
def test_an_id_of_any_legal_kind_comes_back(server: Served, number: str) -> None:
    body = f'{{"jsonrpc":"2.0","method":"health","id":{number}}}'.encode()
    assert ask(server, body)["id"] == json.loads(number)
    assert f'"id":{number}'.encode() in server.post(body).body


INVALID = -32600
WRONG = [
    pytest.param(b"", -32700, id="nothing at all"),
    pytest.param(b"{", -32700, id="half an object"),
    pytest.param(b'{"jsonrpc":"2.0","method":"health","id":1}}', -32700, id="something behind it"),
    pytest.param(b"\xff\xfe", -32700, id="no UTF-8"),
    pytest.param(b'{"jsonrpc":"2.0","method":"\xff","id":1}', -32700, id="no UTF-8 inside a string"),
    pytest.param(b'"\\ud800"', -32700, id="half a surrogate pair"),
    pytest.param(b"NaN", -32700, id="a word that JSON does not know"),
    pytest.param(b"1e999", -32700, id="a number beyond all numbers"),
    pytest.param(b"1", INVALID, id="a number"),
    pytest.param(b"null", INVALID, id="null"),
    pytest.param(b"[]", INVALID, id="an empty batch"),
    pytest.param(b'{"foo":"bar"}', INVALID, id="another object"),
    pytest.param(b'{"method":"health","id":1}', INVALID, id="no version"),
    pytest.param(b'{"jsonrpc":"1.0","method":"health","id":1}', INVALID, id="an older version"),
    pytest.param(b'{"jsonrpc":2.0,"method":"health","id":1}', INVALID, id="the version as a number"),
    pytest.param(b'{"jsonrpc":"2.0","method":1,"params":"bar"}', INVALID, id="a number for a method"),
    pytest.param(b'{"jsonrpc":"2.0","method":"health","params":"bar","id":1}', INVALID, id="a string for parameters"),
    pytest.param(b'{"jsonrpc":"2.0","method":"health","params":7,"id":1}', INVALID, id="a number for parameters"),
    pytest.param(b'{"jsonrpc":"2.0","method":"health","id":{}}', INVALID, id="an object for an id"),
    pytest.param(b'{"jsonrpc":"2.0","method":"health","id":[1]}', INVALID, id="an array for an id"),
    pytest.param(b'{"jsonrpc":"2.0","method":"health","id":true}', INVALID, id="a boolean for an id"),
    pytest.param(b'{"jsonrpc":"2.0","method":"no_such","id":1}', -32601, id="a method that is not there"),
    pytest.param(b'{"jsonrpc":"2.0","method":"","id":1}', -32601, id="a method without a name"),
    pytest.param(b'{"jsonrpc":"2.0","method":"rpc.other","id":1}', -32601, id="a reserved name"),
    pytest.param(b'{"jsonrpc":"2.0","method":"__init__","id":1}', -32601, id="a name of Python's"),
    pytest.param(b'{"jsonrpc":"2.0","method":"play_get","params":["pl_1"],"id":1}', -32602, id="parameters by position"),
    pytest.param(b'{"jsonrpc":"2.0","method":"play_get","id":1}', -32602, id="a parameter that is missing"),
    pytest.param(b'{"jsonrpc":"2.0","method":"play_get","params":{"sid":"pl_1"},"id":1}', -32004, id="nothing of that name"),
]


@pytest.mark.parametrize(("body", "code"), WRONG)
def test_what_is_wrong_has_its_code_and_words(server: Served, body: bytes, code: int) -> None:
    answer = ask(server, body)
    assert answer["error"]["code"] == code
    assert len(answer["error"]["message"]) > 10
    assert set(answer) == {"jsonrpc", "id", "error"}


@pytest.mark.parametrize(
    ("body", "words"),
    [
        pytest.param(
            b'{"jsonrpc":"2.0","method":"\\ud800","id":1}', r"\ud800 at position 27 is half a surrogate pair", id="its first half"
        ),
        pytest.param(
            b'{"jsonrpc":"2.0","method":"\\udc00","id":1}', r"\udc00 at position 27 is half a surrogate pair", id="its second half"
        ),
        pytest.param(b'["\\ud83d\\ude00","\\\\ud800","\\uD83Dx"]', r"\uD83D at position 27", id="after a whole pair and a backslash"),
        pytest.param(b'{"jsonrpc":"2.0","method":"ab\xff","id":1}', "byte 0xff at position 29", id="no UTF-8, counted from the beginning"),
        pytest.param(b'["\\\\ud800"', "truncated", id="a body that ends too early"),
    ],
)
def test_what_is_no_json_is_told_with_its_place(server: Served, body: bytes, words: str) -> None:
    error = ask(server, body)["error"]
    assert error["code"] == -32700
    assert words in error["message"]


@pytest.mark.parametrize(
    ("method", "params", "words"),
    [
        pytest.param("play_get", {"sid": ""}, "it must not be empty.", id="nothing"),
        pytest.param("play_get", {"sid": 7}, "it must be text, not a whole number.", id="another type"),
        pytest.param("play_get", {}, "it is missing.", id="left out"),
        pytest.param("play_get", {"sid": "x", "colour": 1}, "there is no such parameter.", id="unknown"),
        pytest.param("play_list", {"limit": 0}, "it must be at least 1.", id="too small"),
        pytest.param("play_list", {"limit": 1001}, "it must be at most 1000.", id="too large"),
        pytest.param("play_list", {"status": "sleeping"}, "'sleeping' is not one of", id="a word that is not on the list"),
        pytest.param("schedule_set", {"name": "x" * 65}, "it must have at most 64 characters.", id="too long"),
        pytest.param("benchmark_start", {"runs": 1.5}, "it must be a whole number or null, not a number.", id="half a number"),
        pytest.param("benchmark_start", {"budget_usd": 0}, "it must be more than 0.", id="no money"),
    ],
)
def test_a_bad_parameter_is_told_in_words(server: Served, method: str, params: Any, words: str) -> None:
    message = server.rpc(method, params)["error"]["message"]
    assert message.endswith(words) or (words in message and "`" not in message), message


@pytest.mark.parametrize("params", [None, {}, [], "left out"])
def test_no_parameters_may_be_told_in_several_ways(server: Served, params: Any) -> None:
    assert ask(server, {**HEALTH, "params": params} if params != "left out" else HEALTH)["result"]["status"] == "ok"


@pytest.mark.parametrize(
    ("method", "params", "field"),
    [
        pytest.param("play_get", {}, "sid", id="one that is missing"),
        pytest.param("play_get", {"sid": 7}, "sid", id="one of another type"),
        pytest.param("play_get", {"sid": ""}, "sid", id="one that is empty"),
        pytest.param("play_get", {"sid": "pl_1", "colour": "red"}, "colour", id="one that nobody knows"),
        pytest.param("workflow_list", {"cursor": "zzz"}, "cursor", id="a cursor that is none"),
        pytest.param("play_list", {"limit": 1001}, "limit", id="a page that is too large"),
        pytest.param("play_list", {"limit": 0}, "limit", id="a page of nothing"),
        pytest.param("play_list", {"limit": 10**30}, "limit", id="a page beyond all numbers"),
        pytest.param("play_list", {"status": "sleeping"}, "status", id="a word that is not on the list"),
        pytest.param("benchmark_set", {"runs": [{"status": "success", "duration_ms": -1}]}, "runs[0].duration_ms", id="one deep inside"),
        pytest.param("benchmark_set", {"tags": {"a": 1}}, "tags[...]", id="a value of a map"),
    ],
)
def test_a_bad_parameter_is_named_in_the_data(server: Served, method: str, params: Any, field: str) -> None:
    error = server.rpc(method, params)["error"]
    assert (error["code"], error["data"]["field"]) == (-32602, field)


def test_an_unknown_method_is_answered_with_the_nearest_name(server: Served) -> None:
    error = server.rpc("benchmark_lst")["error"]
    assert "benchmark_list" in error["data"]["remedy"]


def test_a_notification_is_done_and_not_answered(server: Served) -> None:
    made = {"jsonrpc": "2.0", "method": "workflow_set", "params": {"text": workflow("told-without-an-id")}}
    reply = server.post(json.dumps(made).encode())
    assert (reply.status, reply.body) == (204, b"")
    assert server.result("workflow_get", sid="told-without-an-id")["name"] == "told-without-an-id"


@pytest.mark.parametrize("method", ["no_such", "play_get"])
def test_a_notification_that_fails_is_not_answered_either(server: Served, method: str) -> None:
    assert server.post(json.dumps({"jsonrpc": "2.0", "method": method}).encode()).status == 204


def test_a_batch_is_worked_off_in_order_and_answered_but_for_its_notifications(server: Served) -> None:
    calls = [
        {"jsonrpc": "2.0", "id": "a", "method": "workflow_set", "params": {"text": workflow("of-a-batch")}},
        {"jsonrpc": "2.0", "method": "health"},
        {"jsonrpc": "2.0", "id": "b", "method": "workflow_get", "params": {"sid": "of-a-batch"}},
        {"foo": "bar"},
        {"jsonrpc": "2.0", "id": "b", "method": "no_such"},
        7,
    ]
    answers = ask(server, calls)
    assert [answer["id"] for answer in answers] == ["a", "b", None, "b", None]
    assert [answer.get("error", {}).get("code", 0) for answer in answers] == [0, 0, -32600, -32601, -32600]
    assert answers[1]["result"]["name"] == "of-a-batch"


def test_a_batch_of_notifications_alone_is_not_answered(server: Served) -> None:
    reply = server.post(json.dumps([{"jsonrpc": "2.0", "method": "health"}] * 3).encode())
    assert (reply.status, reply.body) == (204, b"")


def test_a_batch_may_be_as_long_as_the_limit_and_no_longer(server: Served) -> None:
    most = Limits().batch
    assert len(ask(server, [HEALTH] * most)) == most
    answer = ask(server, [HEALTH] * (most + 1))
    assert answer["error"]["code"] == -32600
    assert str(most) in answer["error"]["message"]


@pytest.mark.parametrize("brackets", ["[]", "{}"])
def test_a_body_nests_as_deep_as_the_limit_and_no_deeper(server: Served, brackets: str) -> None:
    opening, closing = ("[", "]") if brackets == "[]" else ('{"a":', "}")

    def nested(depth: int) -> bytes:
        inner = f"{opening * (depth - 2)}1{closing * (depth - 2)}"
        return f'{{"jsonrpc":"2.0","id":1,"method":"play_get","params":{{"sid":{inner}}}}}'.encode()

    most = Limits().depth
    assert ask(server, nested(most))["error"]["code"] == -32602
    assert ask(server, nested(most + 1))["error"]["code"] == -32600
    assert ask(server, nested(100_000))["error"]["code"] == -32600


def test_many_brackets_beside_each_other_are_no_depth(server: Served) -> None:
    runs = [{"status": "success", "duration_ms": 1.0, "input_values": {"a": [[]]}}] * 200
    answer = server.rpc("benchmark_set", {"subject": "many brackets", "runs": runs})
    assert answer["result"]["num_runs"] == 200


def test_a_body_may_be_as_large_as_the_limit_and_no_larger(server: Served) -> None:
    most = Limits().body_bytes
    head = b'{"jsonrpc":"2.0","id":1,"method":"health","x":"'
    body = head + b"a" * (most - len(head) - 2) + b'"}'
    assert len(body) == most
    assert ask(server, body)["result"]["status"] == "ok"
    reply = server.request("POST", "/rpc", None, {**JSON, "content-length": str(most + 1)})
    assert (reply.status, reply.error["code"]) == (413, -32600)


def test_a_long_name_is_not_repeated_and_not_searched_for(server: Served) -> None:
    answer = ask(server, {**HEALTH, "method": "x" * 1_000_000})
    assert answer["error"]["code"] == -32601
    assert len(answer["error"]["message"]) < 200


@pytest.mark.parametrize("content_type", ["text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"])
def test_only_json_is_read(server: Served, content_type: str) -> None:
    reply = server.request("POST", "/rpc", json.dumps(HEALTH).encode(), {"Content-Type": content_type} if content_type else {})
    assert reply.status == 415
    assert "application/json" in reply.error["data"]["remedy"]


def test_a_charset_beside_the_type_does_no_harm(server: Served) -> None:
    reply = server.request("POST", "/rpc", json.dumps(HEALTH).encode(), {"Content-Type": "Application/JSON; charset=utf-8"})
    assert reply.json["result"]["status"] == "ok"


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/rpc", 405),
        ("PUT", "/rpc", 405),
        ("POST", "/events", 405),
        ("GET", "/nowhere", 404),
        ("GET", "/rpc/", 404),
        ("OPTIONS", "/rpc", 405),
    ],
)
def test_what_is_not_there_is_refused_in_words(server: Served, method: str, path: str, status: int) -> None:
    reply = server.request(method, path)
    assert reply.status == status
    assert path in reply.error["message"]


def test_what_fails_inside_is_told_by_a_reference_and_nothing_else(
    server: Served, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    async def broken(_host: Any, _params: Any) -> None:
        raise RuntimeError("the secret of the house")

    monkeypatch.setitem(OPERATIONS, "health", msgspec.structs.replace(OPERATIONS["health"], run=broken))
    with caplog.at_level(logging.ERROR):
        reply = server.post(json.dumps(HEALTH).encode())
    assert reply.status == 200
    assert reply.error["code"] == -32603
    assert b"secret of the house" not in reply.body
    assert b"Traceback" not in reply.body
    assert reply.error["data"]["reference"] in caplog.text
    assert "the secret of the house" in caplog.text


def test_a_result_that_json_cannot_hold_is_an_error_and_no_broken_answer(server: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    async def strange(_host: Any, _params: Any) -> object:
        return object()

    monkeypatch.setitem(OPERATIONS, "health", msgspec.structs.replace(OPERATIONS["health"], run=strange))
    assert ask(server, HEALTH)["error"]["code"] == -32603


def workflow(name: str) -> str:
    return f"name: {name}\nnodes:\n  - {{id: greet, type: ai, prompt: Hello}}\nconfig: {{provider: mock, model: fast}}\n"

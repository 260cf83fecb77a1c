"""The Python client: a method for every operation, typed results, the server's own errors."""

from __future__ import annotations

import inspect
import itertools
import socket
import threading
from collections.abc import Iterator

import msgspec
import pytest
from tests.serve.client_stub import STUB, stub
from tests.serve.serving import SECRETS, Served

from flowgauge import errors
from flowgauge.app.operations.benches import BenchView
from flowgauge.app.operations.plays import PlayView
from flowgauge.app.operations.table import OPERATIONS
from flowgauge.errors import BadFile, BadInputs, BadParameter, FlowgaugeError, NoAnswer, NotAllowed, NotFound, UsageError
from flowgauge.model.play import Failure
from flowgauge.model.problem import Problem
from flowgauge.model.service import Event
from flowgauge.serve.client import Client
from flowgauge.serve.client_http import KEPT_S
from flowgauge.serve.methods import Methods
from flowgauge.serve.rpc_errors import KINDS, RpcError, raised, told
from flowgauge.serve.running import IDLE_S

GREET = """
name: greet
inputs: [{name: who, required: true}]
config: {provider: mock, model: fast}
nodes:
  - {id: greet, type: ai, prompt: "Hello {{ inputs.who }}"}
"""


@pytest.fixture(scope="module")
def client(server: Served) -> Iterator[Client]:
    with Client(server.url) as made:
        made.workflow_set(text=GREET)
        yield made


def test_the_types_of_the_methods_are_those_of_the_table() -> None:
    assert STUB.read_text(encoding="utf-8") == stub(), "run: python -m tests.serve.client_stub"


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_is_a_method_with_its_parameters(name: str) -> None:
    method, row = getattr(Methods, name), OPERATIONS[name]
    parameters = inspect.signature(method).parameters
    assert [each for each in parameters if each != "self"] == [field.encode_name for field in msgspec.structs.fields(row.params)]
    assert all(each.kind is inspect.Parameter.KEYWORD_ONLY for each in parameters.values() if each.name != "self")
    assert (method.__name__, method.__doc__) == (name, row.summary)


def test_there_is_no_method_beside_the_operations() -> None:
    assert {name for name in vars(Methods) if not name.startswith("_")} == set(OPERATIONS)


def test_results_are_values_of_their_own_types(client: Client) -> None:
    play = client.play_start(workflow_sid="greet", input_data={"who": "Ada"})
    assert isinstance(play, PlayView)
    ended = client.wait_for_play(play.sid, timeout_s=60)
    assert (ended.status, ended.inputs) == ("success", {"who": "Ada"})
    assert ended.sid in [each.sid for each in client.play_list(limit=10).items]
    assert client.call("play_get", sid=play.sid) == client.play_get(sid=play.sid)


def test_a_bench_is_waited_for_and_read(client: Client) -> None:
    bench = client.benchmark_start(workflow_sid="greet", configs={"cases": [{"name": "a", "inputs": {"who": "Ada"}}]}, runs=3)
    assert isinstance(bench, BenchView)
    ended = client.wait_for_bench(bench.bench_id, timeout_s=60)
    assert (ended.status, ended.done) == ("finished", 3)
    benchmark = client.benchmark_get(sid=ended.benchmark_sids[0])
    assert (benchmark.num_runs, benchmark.success_rate) == (3, 100.0)
    latest = client.benchmark_latest_for_version(workflow_version_sid=benchmark.workflow_version_sid)
    assert latest is not None
    assert latest.sid == benchmark.sid


def test_waiting_has_an_end(client: Client) -> None:
    client.workflow_set(text=GREET.replace("greet", "lingers", 1).replace("model: fast", "model: fast, extra: {mock: {latency_ms: 5000}}"))
    play = client.play_start(workflow_sid="lingers", input_data={"who": "Ada"})
    with pytest.raises(NoAnswer, match="not ended within"):
        client.wait_for_play(play.sid, timeout_s=0.2)
    client.play_cancel(sid=play.sid)


def test_events_of_a_play_are_events(client: Client) -> None:
    play = client.play_start(workflow_sid="greet", input_data={"who": "Ada"})
    seen = []
    for event in client.events(play_sid=play.sid, after=0):
        seen.append(event.kind)
        if event.kind == "play_finished":
            break
    assert seen[0] == "play_started"
    assert event.play_sid == play.sid


def test_a_stream_that_breaks_is_taken_up_without_a_gap(server: Served, client: Client) -> None:
    server.host.store.append_events([Event(id=0, kind="tick", at=1, play_sid="pl_broken", data=0)])
    stream = client.events(play_sid="pl_broken", after=0)
    numbers = [next(stream).data]

    async def cut() -> None:
        for number in range(1, 6):
            server.host.publish("tick", play_sid="pl_broken", data=number)
        for listener in tuple(server.application.broadcast._listeners):
            listener.end("cut off by a test")

    server.within(cut())
    numbers += [event.data for event in itertools.islice(stream, 5)]
    assert numbers == list(range(6))
    stream.close()  # type: ignore[attr-defined]


def test_many_threads_share_one_client(client: Client) -> None:
    answers: list[str] = []

    def ask() -> None:
        answers.extend(client.health().status for _ in range(20))

    threads = [threading.Thread(target=ask) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert answers == ["ok"] * 400


def test_what_is_not_there_raises_what_the_server_raised(client: Client) -> None:
    with pytest.raises(NotFound, match="pl_none") as caught:
        client.play_get(sid="pl_none")
    assert caught.value.remedy


def test_a_bad_parameter_names_its_field(client: Client) -> None:
    with pytest.raises(BadParameter) as caught:
        client.play_list(limit=5000)
    assert caught.value.field == "limit"


def test_every_mistake_in_a_workflow_comes_back_with_its_place(client: Client) -> None:
    with pytest.raises(BadFile) as caught:
        client.workflow_set(text="name: broken\nnodes:\n  - {id: a, type: ai}\n  - {id: a, type: nonsense}\n")
    assert len(caught.value.problems) >= 2
    assert all(isinstance(problem, Problem) and problem.line > 0 for problem in caught.value.problems)


def test_inputs_that_do_not_fit_come_back_as_a_list(client: Client) -> None:
    with pytest.raises(BadInputs, match="who") as caught:
        client.play_start(workflow_sid="greet")
    assert len(caught.value.problems) == 1
    assert caught.value.field == "input_data"


def test_an_operation_that_is_not_there_is_not_asked_for(client: Client) -> None:
    with pytest.raises(NotFound, match="health"):
        client.call("healthh")


def test_a_token_is_given_or_taken_from_the_environment(guarded: Served, monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(NotAllowed, match="needs a token"):
        Client(guarded.url).health()
    assert Client(guarded.url, token=SECRETS["read"]).health().status == "ok"
    monkeypatch.setenv("FLOWGAUGE_TOKEN", SECRETS["read"])
    client = Client(guarded.url)
    with pytest.raises(NotAllowed, match="scope run"):
        client.play_start(workflow_sid="greet")
    with pytest.raises(NotAllowed, match="not known"):
        next(Client(guarded.url, token="fg-wrong").events())


def test_a_server_that_is_not_there_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with pytest.raises(NoAnswer, match=f"127.0.0.1:{port}"):
        Client(f"http://127.0.0.1:{port}").health()
    with pytest.raises(NoAnswer, match="flowgauge serve"):
        next(Client(f"http://127.0.0.1:{port}").events())


def test_a_server_that_speaks_no_tls_is_not_called_missing(server: Served) -> None:
    with Client(server.url.replace("http://", "https://")) as client, pytest.raises(NoAnswer) as caught:
        client.health()
    assert "speaks no TLS" in caught.value.remedy
    assert "running" not in str(caught.value)


def test_a_server_that_does_not_answer_in_time_is_no_answer() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent, pytest.raises(NoAnswer, match="timed out"):
        Client(f"http://127.0.0.1:{silent.getsockname()[1]}", timeout_s=0.2).health()


def test_another_kind_of_server_is_no_answer(server: Served) -> None:
    with pytest.raises(UsageError, match="There is nothing at /other/rpc"):
        Client(f"{server.url}/other").health()


@pytest.mark.parametrize("url", ["127.0.0.1:8321", "ftp://127.0.0.1", "http://", ""])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(UsageError, match="no address"):
        Client(url)


def test_a_token_with_a_line_break_is_refused_before_it_is_sent() -> None:
    with pytest.raises(UsageError, match="token"):
        Client("http://127.0.0.1:1", token="a\r\nX-Evil: 1")


def test_a_kept_connection_that_the_server_has_closed_is_made_again_for_a_read(server: Served) -> None:
    client = Client(server.url)
    client.health()
    ((kept, _),) = client._connections._idle
    kept.sock.shutdown(socket.SHUT_RDWR)
    assert client.health().status == "ok"


def test_the_client_lets_go_of_an_idle_connection_before_the_server_does() -> None:
    assert KEPT_S < IDLE_S / 2


def test_a_write_is_not_sent_twice_without_being_asked(server: Served) -> None:
    client = Client(server.url)
    client.health()
    ((kept, _),) = client._connections._idle
    kept.sock.shutdown(socket.SHUT_RDWR)
    with pytest.raises(NoAnswer):
        client.workflow_set(text=GREET)


def test_the_document_of_the_server_can_be_had(client: Client) -> None:
    assert [method["name"] for method in client.discover()["methods"]] == list(OPERATIONS)


FAILURE = Failure(kind="internal", message="It broke.")
MADE: dict[str, FlowgaugeError] = {
    "BadFile": BadFile("a.yaml", [Problem(3, "nodes[0]", "It is wrong.", "Right it.")]),
    "BadInputs": BadInputs("the workflow", ["who is missing"]),
    "BadParameter": BadParameter("limit", "Too large.", remedy="Ask for less."),
    "MissingExtra": errors.MissingExtra("It", "stats"),
    "Failed": errors.Failed(FAILURE),
}


@pytest.mark.parametrize("name", KINDS)
def test_every_error_comes_through_the_wire_as_it_was(name: str) -> None:
    error = MADE.get(name) or KINDS[name]("It is so.", remedy="Do this.")
    again = raised(msgspec.json.decode(msgspec.json.encode(told(error)), type=RpcError))
    assert type(again) is type(error)
    assert (str(again), again.message, again.remedy) == (str(error), error.message, error.remedy)
    assert {key: value for key, value in vars(again).items() if value} == {key: value for key, value in vars(error).items() if value}

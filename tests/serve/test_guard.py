"""Who may call: every operation with every kind of token, and no page of another site on any path."""

from __future__ import annotations

import http.client
import json
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from tests.serve.serving import EXPIRED, JSON, REVOKED, SECRETS, UNKNOWN, Served, bearer, put_tokens, served, token

from flowgauge.app.operations.table import OPERATIONS
from flowgauge.errors import UsageError
from flowgauge.model.redaction import redactor
from flowgauge.model.service import SCOPES, Scope
from flowgauge.serve.guard import SECURITY_HEADERS, door
from flowgauge.serve.limits import Limits
from flowgauge.serve.running import Settings
from flowgauge.store import open_store

NOT_ALLOWED = -32001
PATHS = [("POST", "/rpc"), ("GET", "/rpc"), ("OPTIONS", "/rpc"), ("GET", "/events"), ("HEAD", "/events"), ("GET", "/metrics")]
PATHS += [("GET", "/health"), ("GET", "/"), ("HEAD", "/"), ("DELETE", "/nowhere")]
PAIRS = [(name, scope) for name in OPERATIONS for scope in SCOPES]


def allows(name: str, scope: Scope) -> bool:
    return SCOPES.index(scope) >= SCOPES.index(OPERATIONS[name].scope)


@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_without_a_token_is_refused(guarded: Served, name: str) -> None:
    reply = guarded.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": name, "params": {}}).encode())
    assert (reply.status, reply.error["code"], reply.headers["www-authenticate"]) == (401, NOT_ALLOWED, "Bearer")
    assert "flowgauge token create" in reply.error["data"]["remedy"]


@pytest.mark.parametrize(("name", "scope"), [pair for pair in PAIRS if not allows(*pair)])
def test_an_operation_with_a_scope_that_is_too_small_is_refused(guarded: Served, name: str, scope: str) -> None:
    error = guarded.rpc(name, {}, secret=SECRETS[scope])["error"]
    assert error["code"] == NOT_ALLOWED
    assert OPERATIONS[name].scope in error["message"]


@pytest.mark.parametrize("secret", [REVOKED, EXPIRED, UNKNOWN], ids=["revoked", "expired", "unknown"])
@pytest.mark.parametrize("name", OPERATIONS)
def test_an_operation_with_a_token_that_opens_nothing_is_refused(guarded: Served, name: str, secret: str) -> None:
    reply = guarded.post(json.dumps({"jsonrpc": "2.0", "id": 1, "method": name, "params": {}}).encode(), **bearer(secret))
    assert (reply.status, reply.error["code"]) == (401, NOT_ALLOWED)
    assert secret not in reply.body.decode()


@pytest.mark.parametrize(("name", "scope"), [pair for pair in PAIRS if allows(*pair)])
def test_an_operation_with_its_scope_or_a_larger_one_is_let_through(guarded: Served, name: str, scope: str) -> None:
    """As far as its own check of parameters, which here are none."""
    answer = guarded.rpc(name, {}, secret=SECRETS[scope])
    assert answer.get("error", {}).get("code", 0) in (0, -32602), answer


def test_every_call_of_a_batch_is_held_to_the_scope(guarded: Served) -> None:
    calls = [{"jsonrpc": "2.0", "id": name, "method": name} for name in ("health", "play_start", "benchmark_delete")]
    answers = guarded.post(json.dumps(calls).encode(), **bearer(SECRETS["read"])).json
    assert [answer.get("error", {}).get("code", 0) for answer in answers] == [0, NOT_ALLOWED, NOT_ALLOWED]


@pytest.mark.parametrize("authorization", ["", "Basic YTpi", "Bearer", "Bearer ", SECRETS["admin"], "Bearer  ", "Bearer ünknown"])
def test_what_is_no_bearer_token_is_refused(guarded: Served, authorization: str) -> None:
    reply = guarded.request("POST", "/rpc", b"{}", {**JSON, "Authorization": authorization})
    assert (reply.status, reply.error["code"]) == (401, NOT_ALLOWED)


@pytest.mark.parametrize(("method", "path"), [("GET", "/events"), ("GET", "/metrics"), ("GET", "/nowhere"), ("POST", "/rpc")])
def test_nothing_but_health_and_the_page_is_shown_without_a_token(guarded: Served, method: str, path: str) -> None:
    assert guarded.request(method, path).status == 401
    assert guarded.request("GET", "/health").status == 200
    assert guarded.request("GET", "/").status == 200


def test_health_says_nothing_about_the_store(guarded: Served) -> None:
    assert set(guarded.request("GET", "/health").json) == {"status", "version"}


def test_a_token_that_is_revoked_while_the_server_runs_opens_nothing_from_then_on(guarded: Served) -> None:
    with open_store(guarded.host.store.place, redact=redactor(())) as store:
        store.put_token(token("short-lived", "fg-short-lived", scope="read"))
        assert "result" in guarded.rpc("health", {}, secret="fg-short-lived")
        store.revoke_token("short-lived")
        assert guarded.rpc("health", {}, secret="fg-short-lived")["error"]["code"] == NOT_ALLOWED


def test_on_loopback_no_token_is_needed_but_one_that_is_sent_counts(server: Served) -> None:
    assert "result" in server.rpc("health")
    assert server.rpc("health", secret=UNKNOWN)["error"]["code"] == NOT_ALLOWED


FOREIGN = [
    pytest.param({"Host": "evil.example"}, id="a name that is not ours"),
    pytest.param({"Host": "evil.example:PORT"}, id="a name that is not ours with our port"),
    pytest.param({"Host": "127.0.0.1.evil.example"}, id="a name that begins like ours"),
    pytest.param({"Host": "evil.example#@127.0.0.1"}, id="a name that ends like ours"),
    pytest.param({"Host": "192.168.1.10"}, id="an address that is not ours"),
    pytest.param({"Host": ""}, id="no name at all"),
    pytest.param({"Origin": "http://evil.example"}, id="another site"),
    pytest.param({"Origin": "http://evil.example:PORT"}, id="another site on our port"),
    pytest.param({"Origin": "http://127.0.0.1:1"}, id="another port of this machine"),
    pytest.param({"Origin": "http://127.0.0.1:PORT.evil.example"}, id="a site that begins like ours"),
    pytest.param({"Origin": "http://localhost:PORT"}, id="another name of this machine"),
    pytest.param({"Origin": "null"}, id="a page without an origin"),
    pytest.param({"Origin": "file://"}, id="a file"),
    pytest.param({"Sec-Fetch-Site": "cross-site"}, id="a browser that says it comes from elsewhere"),
    pytest.param({"Sec-Fetch-Site": "same-site", "Sec-Fetch-Mode": "no-cors"}, id="a browser on a neighbour's page"),
]


@pytest.mark.parametrize("headers", FOREIGN)
@pytest.mark.parametrize(("method", "path"), PATHS)
def test_what_comes_from_elsewhere_is_refused_on_every_method_and_path(
    server: Served, method: str, path: str, headers: dict[str, str]
) -> None:
    port = str(urlsplit(server.url).port)
    reply = server.request(method, path, headers={**JSON, **{name: value.replace("PORT", port) for name, value in headers.items()}})
    assert reply.status in ((400, 403) if headers == {"Host": ""} else (403,))
    assert "access-control-allow-origin" not in reply.headers


@pytest.mark.parametrize("headers", FOREIGN)
def test_a_good_token_does_not_help_who_comes_from_elsewhere(guarded: Served, headers: dict[str, str]) -> None:
    port = str(urlsplit(guarded.url).port)
    given = {name: value.replace("PORT", port) for name, value in headers.items()}
    reply = guarded.request("GET", "/metrics", headers={**bearer(SECRETS["admin"]), **given})
    assert reply.status in (400, 403)


@pytest.mark.parametrize("name", ["127.0.0.1", "localhost", "[::1]", "LOCALHOST", "127.0.0.1:PORT", "localhost:PORT", "[::1]:PORT"])
def test_the_names_of_loopback_are_ours_and_so_is_the_page_that_came_from_there(server: Served, name: str) -> None:
    name = name.replace("PORT", str(urlsplit(server.url).port))
    headers = {"Host": name, "Origin": f"http://{name}", "Sec-Fetch-Site": "same-origin"}
    assert server.request("GET", "/metrics", headers=headers).status == 200


def test_a_name_that_was_allowed_is_ours_behind_a_proxy_too(guarded: Served) -> None:
    headers = {"Host": "gauge.example", "Origin": "https://gauge.example", **bearer(SECRETS["read"])}
    assert guarded.request("GET", "/metrics", headers=headers).status == 200


@pytest.mark.parametrize(
    ("host", "origin", "status"),
    [
        pytest.param("gauge.example:443", "https://gauge.example", 200, id="the port that https has, only in the host"),
        pytest.param("gauge.example", "https://gauge.example:443", 200, id="only in the origin"),
        pytest.param("gauge.example:80", "http://gauge.example", 200, id="the port that http has"),
        pytest.param("gauge.example:443", "http://gauge.example", 403, id="the port of the other scheme"),
        pytest.param("gauge.example:8443", "https://gauge.example", 403, id="another port"),
        pytest.param("gauge.example:443", "https://evil.example", 403, id="another site"),
    ],
)
def test_the_usual_port_of_a_scheme_may_be_written_or_left_out(guarded: Served, host: str, origin: str, status: int) -> None:
    headers = {"Host": host, "Origin": origin, **bearer(SECRETS["read"])}
    assert guarded.request("GET", "/metrics", headers=headers).status == status


@pytest.mark.parametrize("path", ["/", "/health"])
@pytest.mark.parametrize("authorization", [f"Bearer {UNKNOWN}", f"Bearer {REVOKED}", f"Bearer {EXPIRED}", "Basic x"])
def test_what_needs_no_token_does_not_look_at_one(guarded: Served, path: str, authorization: str) -> None:
    assert guarded.request("GET", path, headers={"Authorization": authorization}).status == 200


def test_a_link_on_another_site_may_lead_to_the_page(server: Served) -> None:
    visit = {"Sec-Fetch-Site": "cross-site", "Sec-Fetch-Mode": "navigate"}
    assert server.request("GET", "/", headers=visit).status == 200
    assert server.request("POST", "/rpc", b"{}", {**JSON, **visit}).status == 403


@pytest.mark.parametrize(("method", "path"), PATHS)
def test_every_answer_has_the_headers_that_keep_browsers_careful(server: Served, method: str, path: str) -> None:
    if (method, path) == ("GET", "/events"):
        method = "HEAD"
    headers = server.request(method, path, headers=JSON).headers
    assert {name: headers.get(name.lower()) for name in SECURITY_HEADERS} == SECURITY_HEADERS
    assert "server" not in headers


def test_a_body_without_a_length_is_counted_as_it_comes(tmp_path: Path) -> None:
    with served(Settings(db=str(tmp_path / "small.db"), port=0, limits=Limits(body_bytes=10_000))) as small:
        connection = http.client.HTTPConnection(urlsplit(small.url).netloc, timeout=30)
        connection.request("POST", "/rpc", iter([b"x" * 1_000] * 11), JSON, encode_chunked=True)
        response = connection.getresponse()
        assert response.status == 413
        assert "10000 bytes" in json.loads(response.read())["error"]["message"]
        connection.close()


def test_a_body_that_does_not_come_is_not_waited_for(tmp_path: Path) -> None:
    with served(Settings(db=str(tmp_path / "slow.db"), port=0, limits=Limits(body_s=0.2))) as slow:
        connection = http.client.HTTPConnection(urlsplit(slow.url).netloc, timeout=30)
        connection.putrequest("POST", "/rpc")
        connection.putheader("Content-Type", "application/json")
        connection.putheader("Content-Length", "100")
        connection.endheaders(b"{")
        assert connection.getresponse().status == 408
        connection.close()


@pytest.mark.parametrize(
    ("host", "allowed", "needed"),
    [
        pytest.param("127.0.0.1", (), False, id="loopback"),
        pytest.param("::1", (), False, id="loopback of IPv6"),
        pytest.param("localhost", ("127.0.0.1",), False, id="loopback by its names"),
        pytest.param("0.0.0.0", (), True, id="all addresses"),
        pytest.param("::", (), True, id="all addresses of IPv6"),
        pytest.param("192.168.1.10", (), True, id="one address of a network"),
        pytest.param("127.0.0.1", ("gauge.example",), True, id="a proxy on this machine"),
    ],
)
def test_only_what_others_cannot_reach_goes_without_a_token(host: str, allowed: tuple[str, ...], needed: bool) -> None:
    assert door(host, allowed).token_required is needed


@pytest.mark.parametrize("name", ["", "http://gauge.example", "gauge.example:80", "*", "*.example", "a b", "me@gauge.example"])
def test_a_host_that_is_no_name_is_refused(name: str) -> None:
    with pytest.raises(UsageError, match="--allowed-host"):
        door("127.0.0.1", (name,))


@pytest.mark.parametrize(("host", "allowed"), [("0.0.0.0", ()), ("127.0.0.1", ("gauge.example",))])
def test_a_server_that_others_can_reach_does_not_start_without_a_token(tmp_path: Path, host: str, allowed: tuple[str, ...]) -> None:
    with (
        pytest.raises(UsageError, match="flowgauge token create"),
        served(Settings(db=str(tmp_path / "none.db"), host=host, port=0, allowed_hosts=allowed)),
    ):
        pass


def test_tokens_that_open_nothing_do_not_let_it_start_either(tmp_path: Path) -> None:
    db = str(tmp_path / "old.db")
    put_tokens(db)
    with open_store(db, redact=redactor(())) as store:
        for scope in SCOPES:
            store.revoke_token(scope)
    with pytest.raises(UsageError, match="flowgauge token create"), served(Settings(db=db, host="0.0.0.0", port=0)):
        pass


def test_on_all_addresses_loopback_needs_its_token_too(tmp_path: Path) -> None:
    db = str(tmp_path / "all.db")
    put_tokens(db)
    with served(Settings(db=db, host="0.0.0.0", port=0)) as up:
        port = urlsplit(up.url).port
        up._address = f"127.0.0.1:{port}"
        assert up.rpc("health")["error"]["code"] == NOT_ALLOWED
        assert up.rpc("health", secret=SECRETS["read"])["result"]["status"] == "ok"

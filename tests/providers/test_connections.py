"""Connections that are kept open, against real servers on loopback."""

from __future__ import annotations

import asyncio
import datetime
import ipaddress
import socket
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from tests.providers.canned_server import Seen, answers, serving

from flowgauge.errors import Failed
from flowgauge.providers.wire import connections as module
from flowgauge.providers.wire.connections import Connections, CutOff, Place
from flowgauge.providers.wire.http_answer import BadAnswer
from flowgauge.providers.wire.http_failures import Caller
from flowgauge.providers.wire.transport import Call, Received, Wire
from flowgauge.providers.wire.turns import Turns

HEAD = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n"
YES = b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nyes"
Answer = Callable[[int, asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""Is told how many connections came before it."""


@asynccontextmanager
async def server(answer: Answer, **options: Any) -> AsyncIterator[Place]:
    count = 0

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        nonlocal count
        count += 1
        try:
            await answer(count - 1, reader, writer)
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            writer.close()

    running = await asyncio.start_server(serve, "127.0.0.1", 0, **options)
    async with running:
        yield Place("127.0.0.1", running.sockets[0].getsockname()[1], "ssl" in options)


async def request_of(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    return await reader.readexactly(int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0]))


async def always_yes(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    while True:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number)


async def asked(pool: Connections, place: Place, timeout_s: float = 5.0) -> bytes:
    return (await pool.post(place, HEAD, b"{}", timeout_s)).answer.body


def scene(answer: Answer, act: Callable[[Connections, Place], Awaitable[Any]], **options: Any) -> Any:
    async def play() -> Any:
        pool = Connections(Turns())
        async with server(answer, **options) as place:
            try:
                return await act(pool, place)
            finally:
                await pool.close()

    return asyncio.run(play())


def test_a_connection_is_used_again_and_only_as_many_are_opened_as_are_needed_at_once() -> None:
    async def act(pool: Connections, place: Place) -> list[bytes]:
        one_by_one = [await asked(pool, place) for _ in range(3)]
        at_once = await asyncio.gather(*(asked(pool, place) for _ in range(4)))
        return [*one_by_one, *sorted(at_once), await asked(pool, place)]

    found = scene(always_yes, act)
    assert found[:-1] == [b"0", b"0", b"0", b"0", b"1", b"2", b"3"]
    assert found[-1] in (b"0", b"1", b"2", b"3")


def test_a_connection_that_was_idle_for_too_long_is_not_used_again(monkeypatch: pytest.MonkeyPatch) -> None:
    async def act(pool: Connections, place: Place) -> list[bytes]:
        first = await asked(pool, place)
        monkeypatch.setattr(module, "KEEP_ALIVE_S", -1.0)
        return [first, await asked(pool, place)]

    assert scene(always_yes, act) == [b"0", b"1"]


def test_a_connection_that_the_server_closed_while_it_was_idle_is_not_used_again() -> None:
    async def answers_once(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(YES)

    async def act(pool: Connections, place: Place) -> list[bytes]:
        first = await asked(pool, place)
        await asyncio.sleep(0.05)
        return [first, await asked(pool, place)]

    assert scene(answers_once, act) == [b"yes", b"yes"]


def test_what_comes_unasked_makes_a_connection_useless() -> None:
    async def says_more(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await request_of(reader)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number)
        await writer.drain()
        await asyncio.sleep(0.02)
        writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nevil")
        await reader.read()

    async def act(pool: Connections, place: Place) -> list[bytes]:
        first = await asked(pool, place)
        await asyncio.sleep(0.1)
        return [first, await asked(pool, place)]

    assert scene(says_more, act) == [b"0", b"1"]


def test_the_answer_to_a_request_that_was_given_up_is_nobody_elses() -> None:
    async def slow_at_first(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await request_of(reader)
            await asyncio.sleep(0.2 if number == 0 else 0)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number)

    async def act(pool: Connections, place: Place) -> bytes:
        task = asyncio.create_task(asked(pool, place))
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return await asked(pool, place)

    assert scene(slow_at_first, act) == b"1"


def test_an_answer_that_waits_for_its_turn_when_its_time_is_up_costs_the_next_request_nothing() -> None:
    class Slow(Turns):
        held: list[Any] = []

        def give(self, future: asyncio.Future[Any], answer: Any) -> None:
            if self.held:
                super().give(future, answer)
            else:
                self.held.append((future, answer))

    async def answers_slowly(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        for pause_s in (0.0, 0.3):
            await request_of(reader)
            await asyncio.sleep(pause_s)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\n%d" % number)

    async def play() -> list[bytes]:
        turns = Slow()
        pool = Connections(turns)
        async with server(answers_slowly) as place:
            first = asyncio.create_task(asked(pool, place, 0.15))
            while not turns.held:
                await asyncio.sleep(0.01)
            second = await asked(pool, place)
            future, answer = turns.held[0]
            future.set_result(answer)
            found = [await first, second]
            await pool.close()
        return found

    assert asyncio.run(play()) == [b"0", b"0"]


def test_an_answer_before_the_request_was_all_sent_ends_the_connection() -> None:
    async def refuses_at_once(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 413 Too Large\r\nContent-Length: 1\r\n\r\n%d" % number)
        await reader.read()

    async def act(pool: Connections, place: Place) -> list[tuple[int, bytes]]:
        body = b"x" * (32 << 20)
        head = b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
        found = [(await pool.post(place, head, body, 5.0)).answer for _ in range(2)]
        return [(one.status, one.body) for one in found]

    assert scene(refuses_at_once, act, limit=1024) == [(413, b"0"), (413, b"1")]


async def says_nothing(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.read()


async def hangs_up(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request_of(reader)


async def breaks_off(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request_of(reader)
    writer.write(YES[:-1])


async def babbles(number: int, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await request_of(reader)
    writer.write(b"220 mail.example ESMTP\r\n\r\n")


@pytest.mark.parametrize(
    ("answer", "error"),
    [
        pytest.param(says_nothing, TimeoutError, id="no answer in time"),
        pytest.param(hangs_up, ConnectionError, id="no answer at all"),
        pytest.param(breaks_off, CutOff, id="half an answer"),
        pytest.param(babbles, BadAnswer, id="another protocol"),
    ],
)
def test_what_goes_wrong_is_told_and_the_connection_is_let_go(answer: Answer, error: type[Exception]) -> None:
    async def act(pool: Connections, place: Place) -> int:
        with pytest.raises(error):
            await asked(pool, place, 0.2)
        await asyncio.sleep(0)
        return len(pool._open)

    assert scene(answer, act) == 0


def test_a_place_that_is_not_there_is_named() -> None:
    async def act(pool: Connections, place: Place) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            nobody = Place("127.0.0.1", free.getsockname()[1], tls=False)
            with pytest.raises(ConnectionError, match=rf"127\.0\.0\.1:{nobody.port}"):
                await asked(pool, nobody)

    scene(always_yes, act)


def test_a_name_is_looked_up_once_for_all_who_ask_at_once_and_again_after_a_failure() -> None:
    lookups: list[str] = []

    async def act(pool: Connections, place: Place) -> None:
        loop = asyncio.get_running_loop()
        found = await loop.getaddrinfo("127.0.0.1", place.port, type=socket.SOCK_STREAM)

        async def getaddrinfo(host: str, *_more: Any, **_options: Any) -> Any:
            lookups.append(host)
            await asyncio.sleep(0.01)
            if len(lookups) == 1:
                raise socket.gaierror(-2, "Name or service not known")
            return found

        loop.getaddrinfo = getaddrinfo  # type: ignore[method-assign, assignment]
        named = place._replace(host="model.example")
        failed = await asyncio.gather(*(asked(pool, named) for _ in range(5)), return_exceptions=True)
        assert all("Name or service not known" in str(error) for error in failed)
        await asyncio.gather(*(asked(pool, named) for _ in range(5)))

    scene(always_yes, act)
    assert lookups == ["model.example"] * 2


def test_an_encrypted_server_is_asked_where_its_certificate_is_known_and_refused_where_not(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    certificate, key = self_signed(tmp_path)
    context.load_cert_chain(certificate, key)

    async def act(pool: Connections, place: Place) -> bytes:
        with pytest.raises(ConnectionError, match="certificate"):
            await asked(pool, place)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        module._tls.cache_clear()
        return await asked(pool, place)

    try:
        module._tls.cache_clear()
        assert scene(always_yes, act, ssl=context) in (b"0", b"1")
    finally:
        module._tls.cache_clear()


def self_signed(folder: Path) -> tuple[Path, Path]:
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - datetime.timedelta(days=1))
        .not_valid_after(now + datetime.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), critical=False)
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .sign(key, hashes.SHA256())
    )
    paths = folder / "certificate.pem", folder / "key.pem"
    paths[0].write_bytes(certificate.public_bytes(serialization.Encoding.PEM))
    plain = serialization.NoEncryption()
    paths[1].write_bytes(key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain))
    return paths


def posted(url: str, respond: Callable[[web.Request], Awaitable[web.StreamResponse]], seen: list[Seen]) -> Received:
    async def play() -> Received:
        wire = Wire()
        async with serving(respond, seen) as address:
            call = Call(caller=Caller("someone"), url=url or f"{address}/v1/x?a=b", headers={"X-Key": "k"}, body=b'{"q": 1}')
            try:
                return await wire.post(call)
            finally:
                await wire.close()

    return asyncio.run(play())


def test_a_request_has_its_path_its_headers_and_its_body() -> None:
    seen: list[Seen] = []
    assert posted("", answers({"a": 1}), seen).body == b'{"a":1}'
    (request,) = seen
    assert (request.path, request.body, request.headers["x-key"]) == ("/v1/x?a=b", {"q": 1}, "k")
    assert request.headers["host"].startswith("127.0.0.1:")
    assert request.headers["user-agent"].startswith("flowgauge/")


def test_an_answer_may_be_packed() -> None:
    async def packs(_: web.Request) -> web.StreamResponse:
        response = web.Response(body=b"yes" * 1000)
        response.enable_compression(web.ContentCoding.gzip)
        return response

    assert posted("", packs, []).body == b"yes" * 1000


def test_what_a_proxy_is_named_for_goes_through_it(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Seen] = []

    async def play() -> bytes:
        wire = Wire()
        async with serving(answers({"by": "proxy"}), seen) as address:
            monkeypatch.setenv("http_proxy", address)
            monkeypatch.delenv("no_proxy", raising=False)
            monkeypatch.delenv("NO_PROXY", raising=False)
            try:
                return (await wire.post(Call(caller=Caller("someone"), url="http://model.example/v1/x", headers={}, body=b"{}"))).body
            finally:
                await wire.close()

    assert asyncio.run(play()) == b'{"by":"proxy"}'
    assert [request.path for request in seen] == ["/v1/x"]
    assert seen[0].headers["host"] == "model.example"


def test_a_redirect_is_not_followed() -> None:
    seen: list[Seen] = []
    with pytest.raises(Failed, match="307"):
        posted("", answers({}, status=307, headers={"Location": "/elsewhere"}), seen)
    assert len(seen) == 1

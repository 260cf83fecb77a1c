"""Answers of HTTP/1.1, read from bytes that are cut anywhere."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.providers.wire.http_answer import LONGEST_HEAD, AnswerReader, BadAnswer

BODY = b'{"text": "yes"}'
PACKERS: dict[str, Callable[[bytes], bytes]] = {
    "": lambda body: body,
    "identity": lambda body: body,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "bare deflate": lambda body: zlib.compress(body, wbits=-15),
}


def read(*pieces: bytes, closed: bool = False) -> AnswerReader:
    reader = AnswerReader()
    whole = False
    for piece in pieces:
        assert not whole, "it was whole before its end"
        whole = reader.feed(piece)
    assert whole or (closed and reader.closed())
    return reader


def answer(body: bytes = BODY, *headers: str, status: str = "200 OK", version: str = "1.1") -> bytes:
    return "\r\n".join((f"HTTP/{version} {status}", *headers, "", "")).encode() + body


def chunked(body: bytes, size: int) -> bytes:
    pieces = [body[start : start + size] for start in range(0, len(body), size)]
    return b"".join(b"%x;name=value\r\n%b\r\n" % (len(piece), piece) for piece in pieces) + b"0\r\nTrailer: x\r\n\r\n"


@given(
    body=st.binary(max_size=300),
    framing=st.sampled_from(["length", "chunks", "close"]),
    packing=st.sampled_from(list(PACKERS)),
    size=st.integers(1, 50),
    cut=st.integers(1, 40),
    informed=st.booleans(),
)
def test_an_answer_is_the_same_however_it_is_framed_packed_and_cut(
    body: bytes, framing: str, packing: str, size: int, cut: int, informed: bool
) -> None:
    sent = PACKERS[packing](body)
    headers = [f"Content-Encoding: {packing.removeprefix('bare ')}"] if packing else []
    if framing == "length":
        headers.append(f"Content-Length: {len(sent)}")
    if framing == "chunks":
        headers.append("Transfer-Encoding: Chunked")
        sent = chunked(sent, size)
    raw = (b"HTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\n" if informed else b"") + answer(sent, *headers)
    reader = read(*(raw[start : start + cut] for start in range(0, len(raw), cut)), closed=framing == "close")
    assert (reader.status, reader.body) == (200, body)
    assert reader.reusable is (framing != "close")


@pytest.mark.parametrize(
    ("raw", "reusable"),
    [
        pytest.param(answer(BODY, "Content-Length: 15"), True, id="HTTP/1.1 is kept open"),
        pytest.param(answer(BODY, "content-length:15", "connection: Close"), False, id="unless it says close"),
        pytest.param(answer(BODY, "Content-Length: 15", version="1.0"), False, id="HTTP/1.0 is closed"),
        pytest.param(answer(BODY, "Content-Length: 15", "Connection: keep-alive", version="1.0"), True, id="unless it says keep-alive"),
        pytest.param(answer(BODY, "Content-Length: 15, 15"), True, id="the same length twice is one length"),
        pytest.param(answer(BODY + b"HTTP/1.1 200 OK", "Content-Length: 15"), False, id="more than the answer came"),
        pytest.param(answer(chunked(BODY, 4) + b"more", "Transfer-Encoding: chunked"), False, id="more than the chunks came"),
        pytest.param(
            answer(chunked(BODY, 4), "Transfer-Encoding: chunked", "Content-Length: 3"), False, id="chunks count more than a length, once"
        ),
    ],
)
def test_when_a_connection_can_be_used_again(raw: bytes, reusable: bool) -> None:
    reader = read(raw)
    assert (reader.body, reader.reusable) == (BODY, reusable)


def test_an_answer_without_content_has_an_empty_body_and_keeps_its_connection() -> None:
    reader = read(answer(b"", status="204 No Content"))
    assert (reader.status, reader.body, reader.reusable) == (204, b"", True)


def test_headers_are_found_by_their_names_in_small_letters() -> None:
    reader = read(answer(b"", "Content-Length: 0", "Retry-After:  3 ", "X-Name: café", "no header", status="429 Slow"))
    assert reader.headers() == {"content-length": "0", "retry-after": "3", "x-name": "café".encode().decode("latin-1")}


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"SSH-2.0-OpenSSH\r\n\r\n", id="another protocol"),
        pytest.param(b"HTTP/2 200\r\n\r\n", id="another version"),
        pytest.param(answer(b"", status="101 Switching Protocols"), id="a change of protocol"),
        pytest.param(b"x" * (LONGEST_HEAD + 1), id="a head without an end"),
        pytest.param(answer(b"", "Content-Length: 3", "Content-Length: 4"), id="two lengths"),
        pytest.param(answer(b"", "Content-Length: -1"), id="a length below zero"),
        pytest.param(answer(b"", "Content-Length: +1"), id="a length with a sign"),
        pytest.param(answer(b"", "Transfer-Encoding: gzip, chunked"), id="a transfer encoding that was not asked for"),
        pytest.param(answer(b"nine\r\n", "Transfer-Encoding: chunked"), id="a chunk without a length"),
        pytest.param(answer(b"2\r\nabc\r\n", "Transfer-Encoding: chunked"), id="a chunk that is longer than it says"),
        pytest.param(answer(b"1" * 9000, "Transfer-Encoding: chunked"), id="a chunk's line without an end"),
        pytest.param(answer(b"ab", "Content-Encoding: br", "Content-Length: 2"), id="a packing that was not asked for"),
        pytest.param(answer(b"ab", "Content-Encoding: gzip", "Content-Length: 2"), id="a packing that it has not"),
        pytest.param(answer(gzip.compress(BODY)[:-9], "Content-Encoding: gzip", "Content-Length: 26"), id="a packing without its end"),
    ],
)
def test_what_is_no_answer_is_refused(raw: bytes) -> None:
    with pytest.raises(BadAnswer):
        AnswerReader().feed(raw)


@pytest.mark.parametrize(
    "raw",
    [
        pytest.param(b"HTTP/1.1 200 OK\r\nContent-Le", id="in the head"),
        pytest.param(answer(BODY, "Content-Length: 16"), id="before its length"),
        pytest.param(answer(b"4\r\nabc", "Transfer-Encoding: chunked"), id="in a chunk"),
        pytest.param(answer(b"0\r\n", "Transfer-Encoding: chunked"), id="before the last line"),
    ],
)
def test_an_answer_that_ends_early_is_not_whole(raw: bytes) -> None:
    reader = AnswerReader()
    assert reader.feed(raw) is False
    assert reader.began
    assert reader.closed() is False

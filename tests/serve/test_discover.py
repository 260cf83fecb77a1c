"""`rpc.discover`: an OpenRPC document that says what the table of operations says."""

from __future__ import annotations

import msgspec
import pytest
from tests.serve import openrpc
from tests.serve.serving import Served

from flowgauge._version import __version__
from flowgauge.app.operations.table import OPERATIONS
from flowgauge.serve.rpc_errors import KINDS


def test_the_document_is_one_of_openrpc(server: Served) -> None:
    openrpc.check(server.result("rpc.discover"))


@pytest.mark.parametrize("spoil", ["info", "methods", "openrpc"])
def test_the_check_itself_finds_what_is_missing(server: Served, spoil: str) -> None:
    document = server.result("rpc.discover")
    del document[spoil]
    with pytest.raises(Exception, match=spoil):
        openrpc.check(document)


def test_it_lists_every_operation_with_its_scope_words_and_parameters(server: Served) -> None:
    document = server.result("rpc.discover")
    told = {method["name"]: method for method in document["methods"]}
    assert list(told) == list(OPERATIONS)
    for name, row in OPERATIONS.items():
        assert (told[name]["x-scope"], told[name]["summary"], told[name]["paramStructure"]) == (row.scope, row.summary, "by-name")
        fields = {field.encode_name: field.required for field in msgspec.structs.fields(row.params)}
        assert {param["name"]: param["required"] for param in told[name]["params"]} == fields


def test_it_knows_the_code_of_every_error(server: Served) -> None:
    document = server.result("rpc.discover")
    codes = {error["code"] for error in document["components"]["errors"].values()}
    assert codes >= {kind.rpc_code for kind in KINDS.values()} | {-32700, -32600, -32601, -32602, -32603}
    assert document["info"]["version"] == __version__


def test_it_may_be_asked_for_with_the_smallest_scope(guarded: Served) -> None:
    assert guarded.rpc("rpc.discover")["error"]["code"] == -32001
    assert guarded.rpc("rpc.discover", secret="fg-secret-of-read")["result"]["openrpc"]

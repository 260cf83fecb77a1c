"""Tokens, on every store."""

from __future__ import annotations

import threading
from pathlib import Path

import msgspec
import pytest

from flowgauge.errors import Conflict, NotFound, UsageError
from flowgauge.model.ids import TOKEN, new_sid
from flowgauge.model.redaction import redactor
from flowgauge.model.service import Token
from flowgauge.store import open_store
from flowgauge.store import tokens as tokens_module
from flowgauge.store.store import Store


def token(name: str = "ci", **fields: object) -> Token:
    sid = new_sid(TOKEN)
    return Token(**{"sid": sid, "name": name, "scope": "run", "hash": f"hash of {sid}", "created_at": 1_000, **fields})  # type: ignore[arg-type]


def test_a_token_is_found_by_its_hash_and_by_nothing_like_it(store: Store) -> None:
    made = token(expires_at=9_000)
    store.put_token(made)
    assert store.get_token_by_hash(made.hash) == made
    assert store.get_token_by_hash(made.hash.upper()) is None
    assert store.get_token_by_hash("") is None


def test_tokens_are_listed_newest_first_with_those_that_were_revoked(store: Store) -> None:
    made = [token(f"t{number}", created_at=number) for number in range(3)]
    for each in made:
        store.put_token(each)
    store.revoke_token("t1")
    page = store.list_tokens(limit=2)
    assert [each.name for each in page.items] == ["t2", "t1"]
    assert [each.name for each in store.list_tokens(page.next_cursor).items] == ["t0"]


@pytest.mark.parametrize("by", ["name", "sid"])
def test_a_revoked_token_says_since_when_and_stays_as_it_was(store: Store, by: str) -> None:
    made = token()
    store.put_token(made)
    revoked = store.revoke_token(getattr(made, by))
    assert revoked.revoked_at > 0
    assert store.get_token_by_hash(made.hash) == revoked
    assert store.revoke_token(getattr(made, by)) == revoked


def test_a_name_is_free_again_once_its_token_is_revoked(store: Store) -> None:
    first, second = token(), token()
    store.put_token(first)
    with pytest.raises(Conflict, match=r"There is a token ci already.*flowgauge token revoke ci"):
        store.put_token(second)
    store.revoke_token("ci")
    store.put_token(second)
    assert store.revoke_token("ci").sid == second.sid


def test_an_unknown_token_cannot_be_revoked(store: Store) -> None:
    with pytest.raises(NotFound, match="No token 'ci' is stored"):
        store.revoke_token("ci")


@pytest.mark.parametrize("name", ["", "two words", "-x", "a\x00", "a" * 101, "a\n"])
def test_a_token_needs_a_name_that_a_shell_can_say(store: Store, name: str) -> None:
    with pytest.raises(UsageError, match="cannot be called"):
        store.put_token(token(name))


def test_a_secret_is_no_name(store_url: str) -> None:
    with open_store(store_url, redact=redactor({"hunter2hunter2"})) as store, pytest.raises(UsageError, match="holds a secret"):
        store.put_token(token("hunter2hunter2"))


def test_the_last_use_is_written_once_in_a_while(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = token()
    store.put_token(made)
    moment = 1_000_000
    monkeypatch.setattr(tokens_module, "now_ms", lambda: moment)

    def used() -> int:
        found = store.get_token_by_hash(made.hash)
        assert found is not None
        store.touch_token(found)
        return getattr(store.get_token_by_hash(made.hash), "last_used_at", -1)

    assert used() == 1_000_000
    moment += tokens_module.TOUCH_MS - 1
    assert used() == 1_000_000
    moment += 1
    assert used() == moment
    moment = 500_000
    assert used() == 500_000, "a clock that was set back does not stop the count"


def test_of_many_uses_at_the_same_moment_one_is_written(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    made = token()
    store.put_token(made)
    moments = iter(range(10**9, 10**9 + 100))
    monkeypatch.setattr(tokens_module, "now_ms", lambda: next(moments))
    threads = [threading.Thread(target=store.touch_token, args=(made,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    first = getattr(store.get_token_by_hash(made.hash), "last_used_at", 0)
    store.touch_token(msgspec.structs.replace(made, last_used_at=0))
    assert getattr(store.get_token_by_hash(made.hash), "last_used_at", 0) == first >= 10**9


def test_tokens_are_never_exported(store: Store, tmp_path: Path) -> None:
    made = token("visible-name")
    store.put_token(made)
    store.export(tmp_path / "all.jsonl")
    text = (tmp_path / "all.jsonl").read_text()
    assert made.hash not in text
    assert "visible-name" not in text

"""What is hidden, and what is not."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flowgauge.model.redaction import MARK, Redactor, secrets_of

SECRET = "correct-horse-battery"


@pytest.mark.parametrize(
    "name", ["OPENAI_API_KEY", "MY_TOKEN", "PGPASSWORD", "DB_PASS", "BASIC_AUTH", "AWS_SECRET_ACCESS_KEY", "client_secret", "KEYS"]
)
def test_a_variable_whose_name_says_so_is_a_secret(name: str) -> None:
    assert secrets_of({name: SECRET}) == {SECRET}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("GOOGLE_APPLICATION_CREDENTIALS", "/etc/keys/key.json", id="a path"),
        pytest.param("KEY_SERVER", "https://keys.example.com/v1", id="an address"),
        pytest.param("MONKEY", SECRET, id="a word that only ends like one"),
        pytest.param("API_KEY", "short", id="too short to tell from a word"),
    ],
)
def test_what_only_looks_like_one_is_none(name: str, value: str) -> None:
    assert not secrets_of({name: value})


def test_a_key_that_begins_with_a_slash_is_a_secret() -> None:
    assert secrets_of({"AWS_SECRET_ACCESS_KEY": "/bPxRfiCYEXAMPLEKEY+abc"})


def test_a_password_inside_a_url_is_a_secret_wherever_it_is_named() -> None:
    assert secrets_of({"DATABASE_URL": "postgresql://me:open-sesame@db/x"}) == {"open-sesame"}
    assert Redactor()("see http://me:open-sesame@host/x") == f"see http://{MARK}@host/x"


def test_what_is_learnt_later_is_hidden_too() -> None:
    redact = Redactor()
    assert redact(f"it is {SECRET}") == f"it is {SECRET}"
    redact.learn([SECRET])
    assert redact(f"it is {SECRET}") == f"it is {MARK}"


def test_a_secret_is_found_where_json_has_escaped_it() -> None:
    redact = Redactor(['quote"and\\slash'])
    assert redact(r'{"a":"quote\"and\\slash"}') == f'{{"a":"{MARK}"}}'


@pytest.mark.parametrize("text", ["mail me at ann@example.com", "https://example.com/a:b@c", "plain words", "a:b@c"])
def test_ordinary_text_stays_as_it_is(text: str) -> None:
    assert Redactor()(text) == text


PIECES = [
    "sk-abcdefghijklmnop", "ghp_abcdefghijklmnopqrstuv", "ghr_ABCDEFGHIJKLMNOPQRSTUV", "AKIAABCDEFGHIJKLMNOP", "xoxb-1234567890", "xoxz-",
    "AIzaabcdefghijklmnopqrstuvwxyz01234", "Bearer abcdefghijklmnop", "https://me:hunter2@host", "me@host", "://", "gh", "K", "sk-", " ",
    "correct horse", 'quo"ted\\secret', "naïve-señor-ü", "zzzzzzzz", "12345678",
]  # fmt: skip


@given(
    pieces=st.lists(st.one_of(st.sampled_from(PIECES), st.text(max_size=5)), max_size=8),
    secrets=st.lists(st.sampled_from(PIECES[15:]), max_size=3),
)
def test_looking_for_signs_first_misses_nothing(pieces: list[str], secrets: list[str]) -> None:
    redact, text = Redactor(secrets), "".join(pieces)
    assert redact(text) == re.sub(redact._pattern, MARK, text)


@pytest.mark.parametrize("text", ["Write to me@example.org or see https://example.org.", "the right-hand side, as Kim Bezos said"])
def test_text_with_the_characters_of_signs_stays_as_it_is(text: str) -> None:
    assert Redactor(["correct horse"])(text) == text

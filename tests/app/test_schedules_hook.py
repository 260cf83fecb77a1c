"""What a webhook is told, against a real server."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from tests.app.hook_server import listening
from tests.stage import StillClock

from flowgauge.app import schedule_hook
from flowgauge.app.schedule_hook import PAUSES_S, check_hook, shown_hook, tell
from flowgauge.errors import UsageError
from flowgauge.model.redaction import MARK, Redactor


def told(webhook: str, news: dict[str, Any] | None = None, *, redact: Redactor | None = None) -> tuple[str, list[float]]:
    """What came of it, and how long was waited between attempts."""
    clock = StillClock()
    said = asyncio.run(tell(webhook, news or {"a": 1}, key="sc_1-2", redact=redact or Redactor(), clock=clock))
    return said, clock.sleeps


def test_it_is_told_once_where_it_takes_it() -> None:
    with listening(204) as hook:
        assert told(hook.url, {"status": "failed", "deep": [{"x": None}]}) == ("", [])
    assert hook.bodies == [{"status": "failed", "deep": [{"x": None}]}]
    assert hook.headers[0]["Content-Type"] == "application/json"
    assert hook.headers[0]["Idempotency-Key"] == "sc_1-2"


@pytest.mark.parametrize("status", [500, 503, 429, 408, pytest.param(0, id="hangs up")])
def test_what_may_pass_is_tried_again(status: int) -> None:
    with listening(status, status, 200) as hook:
        assert told(hook.url) == ("", list(PAUSES_S[:2]))
    assert len(hook.bodies) == 3


def test_it_is_given_up_after_a_few_times() -> None:
    with listening(502) as hook:
        said, sleeps = told(hook.url)
    assert sleeps == list(PAUSES_S)
    assert said.endswith("was not told: it answered 502, 4 times.")
    assert len(hook.bodies) == 4


@pytest.mark.parametrize("status", [400, 401, 404, 410, pytest.param(302, id="a redirect is not followed")])
def test_what_will_not_pass_is_not_tried_again(status: int) -> None:
    with listening(status) as hook:
        said, sleeps = told(hook.url)
    assert f"it answered {status}." in said
    assert (len(hook.bodies), sleeps) == (1, [])


def test_who_does_not_answer_in_time_is_waited_for_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schedule_hook, "TIMEOUT_S", 0.2)
    monkeypatch.setattr(schedule_hook, "PAUSES_S", (1.0,))
    with listening() as hook:
        hook.hang.clear()
        said, _ = told(hook.url)
        hook.hang.set()
    assert "it did not answer within 0.2 s, 2 times" in said


def test_nobody_there_is_told_without_the_path() -> None:
    with listening() as hook:
        url = hook.url
    said, sleeps = told(url)
    assert "could not be reached" in said
    assert len(sleeps) == len(PAUSES_S)
    assert "secret-path" not in said
    assert "127.0.0.1" in said


def test_secrets_are_not_told() -> None:
    with listening() as hook:
        told(hook.url, {"words": "key hunter2hunter2 is wrong", "hunter2hunter2": ["hunter2hunter2"]}, redact=Redactor(["hunter2hunter2"]))
    assert hook.bodies == [{"words": f"key {MARK} is wrong", MARK: [MARK]}]


def test_an_address_in_a_variable_is_found_there_and_hidden_from_then_on(monkeypatch: pytest.MonkeyPatch) -> None:
    redact = Redactor()
    with listening() as hook:
        monkeypatch.setenv("TEAM_HOOK", hook.url)
        assert told("env:TEAM_HOOK", {"url": hook.url}, redact=redact)[0] == ""
    assert hook.bodies == [{"url": MARK}]
    assert redact(f"see {hook.url}") == f"see {MARK}"


@pytest.mark.parametrize("value", [None, "", "ftp://example.com", "not a url"])
def test_a_variable_without_an_address_is_told(monkeypatch: pytest.MonkeyPatch, value: str | None) -> None:
    monkeypatch.delenv("TEAM_HOOK", raising=False)
    if value is not None:
        monkeypatch.setenv("TEAM_HOOK", value)
    assert told("env:TEAM_HOOK") == ("The webhook was not told: env:TEAM_HOOK holds no URL where the server runs.", [])


@pytest.mark.parametrize("webhook", ["", "http://127.0.0.1:1/x", "https://hooks.example.com/a?b=c", "env:TEAM_HOOK", "http://[::1]:80/"])
def test_addresses_and_variables_are_webhooks(webhook: str) -> None:
    check_hook(webhook)


@pytest.mark.parametrize(
    "webhook", ["x", "ftp://example.com/", "http://", "env:", "env:a b", "http://host:port/", "//example.com", "http://["]
)
def test_nothing_else_is(webhook: str) -> None:
    with pytest.raises(UsageError, match=r"env:NAME"):
        check_hook(webhook)


@pytest.mark.parametrize(
    ("webhook", "shown"),
    [("https://hooks.example.com:8443/T0/B1/secret?x=1", "https://hooks.example.com:8443/…"), ("env:HOOK", "env:HOOK"), ("", "")],
)
def test_readers_see_where_it_goes_and_no_secret(webhook: str, shown: str) -> None:
    assert shown_hook(webhook) == shown

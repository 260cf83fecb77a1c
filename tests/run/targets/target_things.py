"""Functions and graphs that targets name."""

from __future__ import annotations

import asyncio
import sys
import threading
import time
from typing import Any

from flowgauge.errors import Failed
from flowgauge.model.play import Failure

release = threading.Event()


def greet(name: str, greeting: str = "Hello") -> str:
    return f"{greeting}, {name}"


async def greet_later(name: str) -> str:
    await asyncio.sleep(0)
    return f"Hello, {name}"


def with_config(name: str, config: dict[str, Any]) -> dict[str, Any]:
    return {"name": name, "model": config.get("model")}


def full_report(name: str) -> dict[str, Any]:
    return {
        "output": name.upper(),
        "tokens_prompt": 7,
        "tokens_completion": 3,
        "cost_usd": 0.25,
        "model": "m",
        "scores": {"sure": 0.9},
        "first_token_ms": 4.5,
        "retries": 2,
        "nodes": {"first": {"text": "a"}},
    }


def tokens_only(name: str) -> dict[str, Any]:
    return {"output": name, "model": "known", "tokens_prompt": 10, "tokens_completion": 5}


def other_object(name: str) -> dict[str, Any]:
    return {"output": name, "confidence": 0.5}


def bad_report(name: str) -> dict[str, Any]:
    return {"output": name, "tokens_prompt": "many"}


def no_json(name: str) -> object:
    return object()


def not_a_number(name: str) -> float:
    return float("nan")


def stumble(name: str) -> None:
    raise KeyError(name)


async def stumble_later(name: str) -> None:
    raise KeyError(name)


def leave(name: str) -> None:
    sys.exit(4)


async def leave_later(name: str) -> None:
    sys.exit(4)


async def cancel_itself(name: str) -> None:
    raise asyncio.CancelledError


def limited(name: str) -> None:
    raise Failed(Failure(kind="rate_limited", message="later", retry_after_s=3))


def rest(name: str) -> str:
    time.sleep(0.03)
    return threading.current_thread().name


def wait_for_release(name: str) -> str:
    release.wait(30)
    return "released"


number = 5


class Agent:
    async def __call__(self, name: str) -> str:
        return f"agent of {name}"


agent = Agent()

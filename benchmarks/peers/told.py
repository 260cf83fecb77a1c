"""What an adapter is asked and what it tells back: arguments in, one line of JSON out.

Standard library only: adapters run in the peers' own interpreter.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib.metadata
import json
import os
import sys
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, TextIO

MODEL = "gpt-4o-mini"
PROMPT = "Classify this ticket as billing, technical or general: my invoice is wrong. " * 4
DELAY_MS = 50


class Asked(NamedTuple):
    """One measurement. `what` is noop, cases (noop, a case of its own for each), play (noop in a workflow) or calls (a model at `url`)."""

    what: str
    trials: int
    at_once: int
    url: str
    folder: str


def asked() -> Asked:
    """From the command line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("what", choices=("noop", "cases", "play", "calls"))
    parser.add_argument("trials", type=int)
    parser.add_argument("at_once", type=int)
    parser.add_argument("--url", default="")
    parser.add_argument("--folder", default=".")
    return Asked(**vars(parser.parse_args()))


def tell(seconds: float, latencies_ms: Sequence[float] | None = None, **more: Any) -> None:
    """The answer, as the last line of the real standard output."""
    said: dict[str, Any] = {"seconds": seconds, **more}
    if latencies_ms:
        ordered = sorted(latencies_ms)
        said |= {"p50_ms": quantile(ordered, 0.5), "p95_ms": quantile(ordered, 0.95)}
    print(json.dumps(said), flush=True)


def quantile(ordered: Sequence[float], share: float) -> float:
    """By the nearest rank below: the same for everybody."""
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def version_of(package: str) -> str:
    """As it is installed here."""
    return importlib.metadata.version(package)


@contextlib.contextmanager
def quiet() -> Iterator[TextIO]:
    """Peers print tables; only the answer may reach standard output."""
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):  # noqa: PTH123
        yield sys.stderr

"""What end-to-end tests of a bench share: a workflow, bench files, the program as a process, what its JSON report says."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import msgspec
import yaml

from flowgauge.report.bench_json import BenchReport

EXAMPLES = Path(__file__).parents[2] / "examples" / "bench"

ASK = """
name: ask
inputs: [{name: question, type: string, required: true}]
config: {model: mock/fast}
nodes:
  - {id: reply, type: ai, prompt: "{{ inputs.question }} yes or no?", retry: {max: 2, backoff_s: 0.01}}
output: "{{ nodes.reply.text }}"
"""

PROFILES = """
profiles:
  limited: {like: fast, faults: [{kind: rate_limited, retry_after_s: 0.02}]}
  paced: {like: fast, faults: [{kind: rate_limited, first: 2, retry_after_s: 0.02}]}
"""


class Done(msgspec.Struct):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def report(self) -> BenchReport:
        """Of a command with --json."""
        assert self.out, self.err
        return msgspec.json.decode(self.out, type=BenchReport)


Program = Callable[..., Done]


def bench_file(folder: Path, name: str = "configs.yaml", **value: Any) -> Path:
    """A bench file: two configurations on the mock's instant profile, one question, unless said otherwise."""
    models = value.pop("models", {"one": "mock/fast", "two": "mock/fast"})
    settings = value.pop("config", {})
    whole = {
        "name": "asking",
        "configs": [config(name, model=model, **settings) for name, model in models.items()],
        "state_variants": [variant("sky", "Is the sky blue?")],
        **value,
    }
    path = folder / name
    path.write_text(yaml.safe_dump(whole, sort_keys=False))
    return path


def config(name: str, **settings: Any) -> dict[str, Any]:
    return {"name": name, "workflow_overrides": {"config": settings}}


def variant(name: str, question: str, **more: Any) -> dict[str, Any]:
    return {"name": name, "state": {"question": question}, **more}


def questions(count: int) -> list[dict[str, Any]]:
    return [variant(f"q{number}", f"Is {number} even?") for number in range(count)]


def started(*arguments: str, env: Mapping[str, str] | None = None, cwd: Path | None = None) -> subprocess.Popen[str]:
    """The program as a process of its own."""
    clean = {name: value for name, value in os.environ.items() if not name.startswith("FLOWGAUGE_")}
    return subprocess.Popen(
        [sys.executable, "-m", "flowgauge", *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=cwd,
        env={**clean, "PYTHONUNBUFFERED": "1", **(env or {})},
    )

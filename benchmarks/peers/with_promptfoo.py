"""promptfoo by its command line: it stores results in a SQLite file of its own.

Its time is what it takes for all tests less what it takes for one, so that
starting Node counts for nothing. Latencies are those of its results file.
"""

from __future__ import annotations

import json
import os
import subprocess
import time
from pathlib import Path
from typing import Any

from benchmarks.peers.told import MODEL, PROMPT, Asked, asked, tell

NOOP = """module.exports = class {
  id() { return 'noop'; }
  async callApi() { return { output: 'ok' }; }
};
"""


def provider(asked: Asked, folder: Path) -> Any:
    if asked.what == "calls":
        return {"id": f"openai:chat:{MODEL}", "config": {"apiBaseUrl": asked.url, "apiKey": "x"}}
    (folder / "noop.js").write_text(NOOP)
    return "file://noop.js"


def evaluated(asked: Asked, count: int) -> tuple[float, dict[str, Any]]:
    folder = Path(asked.folder)
    check = [] if asked.what == "calls" else [{"type": "equals", "value": "ok"}]
    tests = [{"vars": {"q": f"{PROMPT} {number}"}, "assert": check} for number in range(count)]
    config = {"prompts": ["{{q}}"], "providers": [provider(asked, folder)], "tests": tests}
    (folder / "promptfooconfig.json").write_text(json.dumps(config))
    command = [os.environ["PROMPTFOO"], "eval", "-c", "promptfooconfig.json", "-j", str(asked.at_once), "-o", "out.json"]
    begun = time.perf_counter()
    done = subprocess.run(
        [*command, "--no-cache", "--no-table", "--no-progress-bar"], cwd=folder, capture_output=True, text=True, check=False
    )
    seconds = time.perf_counter() - begun
    if not (folder / "out.json").is_file():
        raise SystemExit(done.stderr[-2000:] or done.stdout[-2000:])
    return seconds, json.loads((folder / "out.json").read_text())


def measure(asked: Asked) -> None:
    start_s, _ = evaluated(asked, 1)
    seconds, said = evaluated(asked, asked.trials)
    results = said["results"]["results"]
    if len(results) != asked.trials or not all(one["success"] for one in results):
        raise SystemExit(f"only {sum(bool(one['success']) for one in results)} of {asked.trials} tests passed")
    version = said.get("metadata", {}).get("promptfooVersion", "")
    tell(max(seconds - start_s, 1e-9), [one["latencyMs"] for one in results], version=version)


if __name__ == "__main__":
    measure(asked())

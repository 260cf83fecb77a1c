"""Makes docs/perf/: the evidence of 1,000 episodes. Four runs in a row on this host, so that also memory between runs is answered.

python docs/make_perf_evidence.py
"""

from __future__ import annotations

import gzip
import json
import os
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).parent / "perf"
COMMAND = "flowgauge perf --episodes 1000 --workers 8 --strict-spec --charts"
RUNS = 4


def measured(folder: str) -> str:
    """Run the command some times; what it said the last time."""
    environment = {**os.environ, "FLOWGAUGE_PERF_OUTPUT_DIR": folder}
    said = ""
    for _ in range(RUNS):
        done = subprocess.run(
            [sys.executable, "-m", *shlex.split(COMMAND)], env=environment, stdout=subprocess.PIPE, text=True, encoding="utf-8", check=True
        )
        said = done.stdout
    return said


def page(said: str, manifest: dict[str, dict[str, str]], load: float) -> str:
    """What stands beside the pictures."""
    host = manifest["host"]
    files = "[manifest](manifest.json), [summary](summary.json), [metrics](metrics.json), and the [series](series.json.gz), compressed"
    return f"""# Evidence of 1,000 episodes

The built-in scenario, the last of {RUNS} runs in a row, made by `python docs/make_perf_evidence.py`, which runs:

```console
$ {COMMAND}
```

```
{said.partition("Written")[0].strip()}
```

On {host["cpu"]}, {host["cores"]} cores, {host["python"]}; load average {load:.1f} when it began.

![Latency over episodes](latency.svg)

![Distribution](distribution.svg)

![The machine](machine.svg)

![Artifact growth](growth.svg)

The files: {files}. What their fields mean is in [perf](../perf.md#the-files).
"""


def main() -> None:
    """Run, pick the last run's files, write."""
    load = os.getloadavg()[0]
    HERE.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as place:
        said = measured(place)
        last = max(Path(place).glob("perf-manifest-*.json"))
        stamp = last.stem.removeprefix("perf-manifest-")
        for file in Path(place).glob(f"perf-*-{stamp}.*"):
            word = file.stem.removeprefix("perf-").removesuffix(f"-{stamp}")
            if word == "series":
                (HERE / "series.json.gz").write_bytes(gzip.compress(file.read_bytes(), mtime=0))
            elif file.suffix in (".json", ".svg"):
                (HERE / f"{word}{file.suffix}").write_bytes(file.read_bytes())
        manifest = json.loads(last.read_bytes())
    (HERE / "evidence.md").write_text(page(said, manifest, load), encoding="utf-8")


if __name__ == "__main__":
    main()

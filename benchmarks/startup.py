"""How long commands take to start, beside `python -c pass`: the median of several runs each, taken in turns.

python benchmarks/startup.py [--quick]
"""

from __future__ import annotations

import argparse
import compileall
import statistics
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

FLOOR = "python -c pass"
COMMANDS = {
    FLOOR: [sys.executable, "-c", "pass"],
    "flowgauge --version": [sys.executable, "-m", "flowgauge", "--version"],
    "flowgauge --help": [sys.executable, "-m", "flowgauge", "--help"],
    "flowgauge run --help": [sys.executable, "-m", "flowgauge", "run", "--help"],
    "flowgauge validate FILE": [sys.executable, "-m", "flowgauge", "validate", str(Path(__file__).parents[1] / "examples/classify.yaml")],
}
PACKAGES = ("flowgauge", "click", "msgspec", "yaml", "jsonschema", "rich", "sqlalchemy")


def main(rounds: int) -> None:
    """Compile what is imported, then take turns."""
    for package in PACKAGES:
        spec = find_spec(package)
        for folder in (spec.submodule_search_locations or ()) if spec else ():
            compileall.compile_dir(folder, quiet=2)
    times: dict[str, list[float]] = {name: [] for name in COMMANDS}
    for _ in range(rounds):
        for name, command in COMMANDS.items():
            begun = time.perf_counter()
            subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
            times[name].append(time.perf_counter() - begun)
    floor_s = statistics.median(times[FLOOR])
    print(f"{'':28}{'median ms':>10}{'over floor ms':>15}{'× floor':>9}")
    for name, found in times.items():
        median_s = statistics.median(found)
        print(f"{name:28}{median_s * 1000:>10.0f}{(median_s - floor_s) * 1000:>15.0f}{median_s / floor_s:>9.1f}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="5 rounds instead of 15")
    main(5 if parser.parse_args().quick else 15)

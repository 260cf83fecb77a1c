"""Adapters that do what adapters should not."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

GOOD = {"speed": {"value": 3, "direction": "higher", "unit": "m/s"}}


class Adapter:
    tier = "fast"
    requires: dict[str, Any] = {}

    def __init__(self, name: str, answer: Any = None) -> None:
        self.name = name
        self.answer: Any = GOOD if answer is None else answer

    def run(self) -> Any:
        return self.answer


class Raises(Adapter):
    def run(self) -> Any:
        raise RuntimeError("the wheel came off")


class Exits(Adapter):
    def run(self) -> Any:
        sys.exit("bye")


class Dies(Adapter):
    def run(self) -> Any:
        sys.stderr.write("out of coal\n")
        sys.stderr.flush()
        os._exit(7)


class Hangs(Adapter):
    """With a child that would outlive it; `answer` names the file for the child's process id."""

    def run(self) -> Any:
        child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
        Path(self.answer).write_text(str(child.pid), encoding="utf-8")
        time.sleep(600)


class Prints(Adapter):
    def run(self) -> Any:
        os.write(1, b'\x00\xff{"metrics": {}}\n' * 100)
        print("}{", file=sys.stderr)
        return GOOD


class Floods(Adapter):
    def run(self) -> Any:
        while True:
            os.write(1, b"x" * 65536)


class Forges(Adapter):
    """Writes its answer by itself, wherever that is kept; `answer` is what it writes."""

    def run(self) -> Any:
        Path(sys.argv[2]).write_bytes(self.answer)
        os._exit(0)


class Needs(Adapter):
    requires: dict[str, Any] = {"packages": ["no_such_package_anywhere"]}

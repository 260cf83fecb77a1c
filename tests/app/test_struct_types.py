"""Threads may decode our structs for the first time at the same moment."""

from __future__ import annotations

import subprocess
import sys

STRESS = """
import sys, threading
import msgspec
import flowgauge.app.operations.table
from flowgauge.app.struct_types import _structs, ready_structs

ready_structs()
sys.setswitchinterval(1e-6)
for struct in sorted(set(_structs(msgspec.Struct)), key=lambda struct: (struct.__module__, struct.__qualname__)):
    gate, value = threading.Barrier(6), dict.fromkeys(struct.__struct_encode_fields__, "x")

    def decode():
        gate.wait()
        try:
            msgspec.convert(value, struct)
        except (msgspec.ValidationError, NameError, TypeError):
            pass

    threads = [threading.Thread(target=decode) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
print("alive")
"""


def test_a_process_outlives_first_decodings_at_the_same_moment() -> None:
    """Without `ready_structs` msgspec ends the process here."""
    done = subprocess.run([sys.executable, "-c", STRESS], capture_output=True, text=True, check=False, timeout=100)
    assert (done.returncode, done.stdout) == (0, "alive\n"), done.stderr[-2000:]

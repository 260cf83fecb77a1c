"""Threads may decode our structs for the first time at the same moment."""

from __future__ import annotations

import subprocess
import sys

from flowgauge.app.operations.table import OPERATIONS
from flowgauge.app.struct_types import ready_structs

STRESS = """
import sys, threading
import msgspec
import flowgauge.app.operations.table
from flowgauge.app.struct_types import _structs, ready_structs

left_out = ready_structs()
sys.setswitchinterval(1e-6)
ours = {struct for struct in _structs(msgspec.Struct) if struct.__module__.startswith("flowgauge.")}
for struct in sorted(ours - left_out, key=lambda struct: (struct.__module__, struct.__qualname__)):
    gate, value = threading.Barrier(6), dict.fromkeys(struct.__struct_encode_fields__, "x")

    def decode():
        gate.wait()
        try:
            msgspec.convert(value, struct)
        except (msgspec.ValidationError, TypeError):
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


def test_nothing_that_an_operation_takes_is_left_out() -> None:
    left_out = ready_structs()
    assert [name for name, operation in OPERATIONS.items() if operation.params in left_out] == []

"""Which isolation this machine can give, and what it leaves open.

Reads the kernel; decides nothing by itself but what `auto` means. A tier that
was demanded and cannot be had is refused, never weakened.
"""

from __future__ import annotations

import os
from typing import Literal

from flowgauge.errors import UsageError
from flowgauge.sandbox.guest import landlock, seccomp

Tier = Literal["landlock", "process"]
Isolation = Literal["auto", "landlock", "process"]

_GAPS_BEFORE_ABI = {
    3: "files outside the scratch folder can be truncated where they may be opened (Linux 6.2 closes this)",
    6: "processes of the same user can be sent signals (Linux 6.12 closes this)",
}
_NO_TIER = "the code can do whatever the user who runs it can: tier process contains faults, it is no security boundary"
_NO_SECCOMP = "UDP, UNIX and other sockets can be made (the system-call filter knows x86_64 and aarch64 only)"
_NO_TCP_RULE = "TCP connections can be made (Linux 6.7 or the system-call filter closes this)"
_TCP_SINCE_ABI = 4


def landlock_abi() -> int:
    """The kernel's Landlock version, 1 and up; 0 where it has none or it is switched off."""
    return landlock.abi()


def choose(isolation: Isolation) -> Tier:
    """The tier that was asked for, or UsageError."""
    if isolation == "process":
        return "process"
    if landlock_abi() >= 1:
        return "landlock"
    if isolation == "auto":
        return "process"
    system = os.uname()
    raise UsageError(
        f"Isolation 'landlock' is not available here ({system.sysname} {system.release}): "
        "it needs Linux 5.13 or newer with Landlock among its security modules (boot with lsm=landlock,…).",
        remedy="Use such a kernel, or choose --isolation process, which contains faults but is no security boundary.",
    )


def gaps(tier: Tier, *, abi: int | None = None, filtered: bool | None = None) -> tuple[str, ...]:
    """What the tier does not stop on this kernel, in words for `flowgauge doctor`; empty on a recent Linux."""
    if tier == "process":
        return (_NO_TIER,)
    version = landlock_abi() if abi is None else abi
    has_filter = seccomp.supported() if filtered is None else filtered
    found = [text for since, text in _GAPS_BEFORE_ABI.items() if version < since]
    if not has_filter:
        found += [_NO_SECCOMP, *([_NO_TCP_RULE] if version < _TCP_SINCE_ABI else [])]
    return tuple(found)

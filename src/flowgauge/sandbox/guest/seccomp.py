"""A small system-call filter for what Landlock does not cover.

Without the network permit no socket can be made (socketpair stays, for
asyncio); with it only internet sockets, for behind UNIX sockets listen daemons
that would do anything for us. Always: io_uring, which would bypass the filter, is not there; keyrings,
other processes' limits and new namespaces are out of reach; setsid and setpgid answer success
and do nothing, so that killing the worker's group kills all that it started.
"""

from __future__ import annotations

import ctypes
import errno
import os

from . import kernel

_AUDIT_ARCH = {"x86_64": 0xC000003E, "aarch64": 0xC00000B7}
_NUMBERS = {
    "x86_64": {"seccomp": 317, "socket": 41, "socketpair": 53, "setsid": 112, "setpgid": 109, "prlimit64": 302, "io_uring_setup": 425,
               "add_key": 248, "request_key": 249, "keyctl": 250, "clone": 56, "clone3": 435, "unshare": 272, "setns": 308,
               "chroot": 161},
    "aarch64": {"seccomp": 277, "socket": 198, "socketpair": 199, "setsid": 157, "setpgid": 154, "prlimit64": 261, "io_uring_setup": 425,
                "add_key": 217, "request_key": 218, "keyctl": 219, "clone": 220, "clone3": 435, "unshare": 97, "setns": 268,
                "chroot": 51},
}  # fmt: skip
_ALWAYS = {
    "setsid": 0, "setpgid": 0, "io_uring_setup": errno.ENOSYS, "clone3": errno.ENOSYS,
    "add_key": errno.EPERM, "request_key": errno.EPERM, "keyctl": errno.EPERM,
    "unshare": errno.EPERM, "setns": errno.EPERM, "chroot": errno.EPERM,
}  # fmt: skip
"""What each answers instead. clone3 hides its flags from a filter; the C library then takes clone."""

_LOAD, _AND, _JUMP_EQUAL, _JUMP_AT_LEAST, _JUMP_ANY_BIT, _RETURN = 0x20, 0x54, 0x15, 0x35, 0x45, 0x06
_NAMESPACE_FLAGS = 0x7E020000
_ALLOW, _ERRNO = 0x7FFF0000, 0x00050000
_NUMBER_AT, _ARCH_AT, _FIRST_ARGUMENT_AT, _SECOND_ARGUMENT_AT = 0, 4, 16, 24
_X32_BIT = 0x40000000
_MODE_FILTER = 2
_SET_FILTER, _ON_ALL_THREADS = 1, 1
_INTERNET_FAMILIES = (2, 10, 16)
"""AF_INET, AF_INET6, and AF_NETLINK, by which name resolution asks for the machine's addresses."""
_SOCK_TYPE_MASK, _SOCK_DGRAM, _SOCK_RAW = 0xF, 2, 3

Instruction = tuple[int, int, int, int]
"""Operation, jump if true, jump if false, constant."""


class _Statement(ctypes.Structure):
    _fields_ = (("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32))


class _Program(ctypes.Structure):
    _fields_ = (("length", ctypes.c_uint16), ("statements", ctypes.POINTER(_Statement)))


def supported() -> bool:
    """Whether the filter is written for this machine; the kernel may still refuse it."""
    return kernel.AVAILABLE and os.uname().machine in _NUMBERS


def install(*, network: bool) -> bool:
    """Put the filter on this process. False where machine or kernel have no such thing."""
    if not supported():
        return False
    program = build(os.uname().machine, network=network)
    statements = (_Statement * len(program))(*(_Statement(*instruction) for instruction in program))
    try:
        kernel.prctl(kernel.SET_NO_NEW_PRIVS)
        kernel.prctl(kernel.SET_SECCOMP, _MODE_FILTER, ctypes.byref(_Program(len(program), statements)))
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOSYS):
            return False
        raise
    return True


def cut_network() -> bool:
    """No socket of any family from now on, in any thread or child; all else stays. False where machine or kernel cannot."""
    if not supported():
        return False
    machine = os.uname().machine
    program = build_offline(machine)
    statements = (_Statement * len(program))(*(_Statement(*instruction) for instruction in program))
    try:
        kernel.prctl(kernel.SET_NO_NEW_PRIVS)
        unreached = kernel.syscall(
            _NUMBERS[machine]["seccomp"], _SET_FILTER, _ON_ALL_THREADS, ctypes.byref(_Program(len(program), statements))
        )
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.ENOSYS):
            return False
        raise
    return unreached == 0


def build_offline(machine: str) -> list[Instruction]:
    """The program of `cut_network`. UNIX sockets are refused, too: behind them listen proxies and daemons."""
    numbers = _NUMBERS[machine]
    program = _only(machine)
    program += _on(numbers["io_uring_setup"], [_deny(errno.ENOSYS)])
    program += _on(numbers["socket"], [_deny(errno.EACCES)])
    program += _on(numbers["socketpair"], _NO_DATAGRAMS)
    return [*program, _allow()]


def build(machine: str, *, network: bool) -> list[Instruction]:
    """The filter's program; anything that is not named in it is allowed."""
    numbers = _NUMBERS[machine]
    program = _only(machine)
    for name, answer in _ALWAYS.items():
        program += _on(numbers[name], [_deny(answer)])
    program += _on(numbers["prlimit64"], [_load(_FIRST_ARGUMENT_AT), (_JUMP_EQUAL, 1, 0, 0), _deny(errno.EPERM), _allow()])
    program += _on(numbers["clone"], [_load(_FIRST_ARGUMENT_AT), (_JUMP_ANY_BIT, 0, 1, _NAMESPACE_FLAGS), _deny(errno.EPERM), _allow()])
    program += _on(numbers["socket"], _INTERNET_ONLY if network else [_deny(errno.EACCES)])
    program += _on(numbers["socketpair"], _NO_DATAGRAMS)
    return [*program, _allow()]


def _only(machine: str) -> list[Instruction]:
    """Calls of this machine's own kind, by whose numbers the rest is written; then the number of the call."""
    program = [_load(_ARCH_AT), (_JUMP_EQUAL, 1, 0, _AUDIT_ARCH[machine]), _deny(errno.EPERM), _load(_NUMBER_AT)]
    return [*program, (_JUMP_AT_LEAST, 0, 1, _X32_BIT), _deny(errno.EPERM)] if machine == "x86_64" else program


def _on(number: int, body: list[Instruction]) -> list[Instruction]:
    return [(_JUMP_EQUAL, 0, len(body), number), *body]


def _load(offset: int) -> Instruction:
    return (_LOAD, 0, 0, offset)


def _deny(number: int) -> Instruction:
    return (_RETURN, 0, 0, _ERRNO | number)


def _allow() -> Instruction:
    return (_RETURN, 0, 0, _ALLOW)


_INTERNET_ONLY = [
    _load(_FIRST_ARGUMENT_AT),
    *((_JUMP_EQUAL, 3 - position, 0, family) for position, family in enumerate(_INTERNET_FAMILIES)),
    _deny(errno.EACCES),
    _allow(),
]
# A datagram socket of a pair could still be told to send elsewhere.
_NO_DATAGRAMS = [
    _load(_SECOND_ARGUMENT_AT),
    (_AND, 0, 0, _SOCK_TYPE_MASK),
    (_JUMP_EQUAL, 1, 0, _SOCK_DGRAM),
    (_JUMP_EQUAL, 0, 1, _SOCK_RAW),
    _deny(errno.EACCES),
    _allow(),
]

"""Prints what a file or an http(s) address holds. Is run by its path, so it uses the standard library alone.

A source and the most bytes in; its content on stdout, or one line on stderr and
exit code 1; 3 where there is no such file. Refuses what is no regular file. The
time is kept by whoever runs it.
"""

from __future__ import annotations

import os
import stat
import sys
import urllib.request

ABSENT = 3


def content(source: str, most: int) -> bytes:
    """One byte more than `most` tells that there is more."""
    if source.startswith(("http://", "https://")):
        with urllib.request.urlopen(source) as answer:  # noqa: S310 - http and https only
            return bytes(answer.read(most + 1))
    handle = os.open(source, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))  # a pipe would wait for a writer
    with os.fdopen(handle, "rb") as file:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(0, "it is no regular file")
        return file.read(most + 1)


def main(source: str, most: str) -> int:
    """The exit code."""
    try:
        sys.stdout.buffer.write(content(source, int(most)))
    except FileNotFoundError:
        return ABSENT
    except (OSError, ValueError) as error:
        why = getattr(error, "reason", None) or getattr(error, "strerror", None) or error
        sys.stderr.write(" ".join(str(why).split()))
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))

"""Where a repository may be: https, ssh or a folder here; nothing that git could take for an option or a program to run.

Refuses a leading dash, `ext::` and every other transport, control characters,
blanks in a URL, `..`, hosts that begin with a dash, and passwords, which would be kept.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn
from urllib.parse import urlsplit

from flowgauge.errors import UsageError

PROTOCOLS = "https:ssh:file"
"""What git is allowed to speak, as GIT_ALLOW_PROTOCOL names them."""
_SCP = re.compile(r"[A-Za-z0-9_][\w.-]*@[A-Za-z0-9][\w.-]*:(?!:)[\w./~-]+")
_HOST = re.compile(r"[A-Za-z0-9][A-Za-z0-9.-]*|[0-9a-f:]+")
_HELPER = re.compile(r"[^/]*::")
"""In the path of a folder, and in the address of a host, `::` comes after a slash."""
_COMMIT = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")


def check_source(url: str) -> str:
    """The URL as git is given it; a folder as its absolute path. Raises UsageError."""
    if not url or url.startswith("-"):
        _refuse(url, "it would be an option of git")
    if not url.isprintable():
        _refuse(url, "it holds control characters")
    if ".." in re.split(r"[/\\]", url):
        _refuse(url, "it leads upwards with '..'")
    if _SCP.fullmatch(url):
        return url
    if _HELPER.match(url):
        _refuse(url, "it names a helper program of git")
    return _remote(url) if "://" in url else _folder(url)


def check_commit(commit: str) -> str:
    """A whole commit id. Raises UsageError."""
    if not _COMMIT.fullmatch(commit):
        raise UsageError(f"{commit!r} is no whole commit id.", remedy="Give all 40 digits: git rev-parse HEAD prints them.")
    return commit


def _remote(url: str) -> str:
    if any(letter.isspace() for letter in url):
        _refuse(url, "it holds blanks")
    try:
        parts = urlsplit(url)
        host, password, _ = parts.hostname or "", parts.password, parts.port
    except ValueError:
        _refuse(url, "it cannot be read")
    if parts.scheme not in ("https", "ssh"):
        _refuse(url, f"{parts.scheme}:// is not allowed")
    if not _HOST.fullmatch(host):
        _refuse(url, "its host is none")
    if (parts.username or "").startswith("-"):
        _refuse(url, "its user would be an option")
    if password is not None or (parts.scheme == "https" and parts.username):
        raise UsageError("The repository's URL holds credentials, which would be kept.", remedy="Leave them to git's credential helper.")
    return url


def _folder(path: str) -> str:
    place = Path(path).expanduser().absolute()
    if not place.is_dir():
        _refuse(path, "there is no such folder")
    return str(place)


def _refuse(url: str, why: str) -> NoReturn:
    raise UsageError(f"The repository {url!r} is refused: {why}.", remedy="Give https://HOST/PATH, ssh://HOST/PATH or a folder.")

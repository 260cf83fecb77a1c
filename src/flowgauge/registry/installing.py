"""Adapters from repositories: cloned at one commit, installed into a virtual environment of their own.

    <data>/adapters/<name>/source      the clone
    <data>/adapters/<name>/env         its virtual environment
    <data>/adapters/<name>/adapter.json   written last: without it nothing is installed

Nothing is fetched or run before somebody has agreed to a plan that says what
will be. An install that fails leaves nothing behind; what a killed one left is
swept by the next. The environment keeps packages apart; it is no security
boundary: what is installed runs with the rights of whoever runs it.
"""

from __future__ import annotations

import contextlib
import math
import os
import shlex
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec

from flowgauge.errors import Conflict, Failed, NotFound, NotMeasured, UsageError
from flowgauge.lang.wording import did_you_mean
from flowgauge.nodes.program import Limits
from flowgauge.registry.adapter import Requires, check_name
from flowgauge.registry.adapters.table import BUILT_IN
from flowgauge.registry.child import AdapterFailed, Home, ask
from flowgauge.registry.discovery import DESCRIBE_S, GROUP, names_elsewhere
from flowgauge.registry.programs import run_guarded
from flowgauge.registry.sources import PROTOCOLS, check_commit, check_source
from flowgauge.registry.whole_file import make_folder, write_whole
from flowgauge.store.filelock import locked

FOLDER = "adapters"
_MANIFEST = "adapter.json"
_ASK_S, _STEP_S, _SWEEP_S = 60.0, 1800.0, 20.0
_TAIL, _MOST_BYTES = 600, 50_000_000
_PROXIES = ("http_proxy", "https_proxy", "no_proxy", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
_BUILDS_SEE = frozenset({"PATH", "HOME", "LANG", "LC_ALL", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "SSH_AUTH_SOCK", *_PROXIES})
_NO_HOOKS = ("-c", "core.hooksPath=/dev/null", "-c", "protocol.ext.allow=never")


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    """What an install will do. Shown to whoever must agree."""

    name: str
    url: str
    commit: str
    folder: str
    requires: Requires
    env: tuple[str, ...]
    commands: tuple[str, ...]
    """What will run, as people would type it."""


class Installed(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What is installed, as its file says."""

    name: str
    url: str
    commit: str
    entry_point: str
    requires: Requires
    installed_at: int
    """Milliseconds since 1970."""
    folder: str
    env: tuple[str, ...] = ()
    damage: str = ""
    """Why its record cannot be read; the fields are empty then, but for name and folder."""

    @property
    def home(self) -> Home:
        """Where it runs."""
        return Home(python=str(_python(Path(self.folder))), isolated=True, env=self.env)


Consent = Callable[[Plan], bool]


def make_plan(
    data: Path, repo_url: str, name: str, *, requires_gpu: bool = False, min_vram_gb: float = 0.0, commit: str = "", env: Sequence[str] = ()
) -> Plan:
    """Asks the repository for its newest commit where none is given; runs nothing of it. Raises UsageError, NotMeasured."""
    url, name = check_source(repo_url), check_name(name, "An adapter")
    if name in BUILT_IN:
        raise UsageError(f"{name} is a built-in adapter.", remedy="Choose another name.")
    if name in names_elsewhere(()):
        raise UsageError(f"{name} is an adapter of an installed package, or was registered.", remedy="Choose another name.")
    if not (math.isfinite(min_vram_gb) and min_vram_gb >= 0):
        raise UsageError(f"{min_vram_gb} is no amount of GPU memory.", remedy="Give a number of GB, 0 or more.")
    if bad := [variable for variable in env if not variable.isidentifier()]:
        raise UsageError(f"{bad[0]!r} is no name of an environment variable.", remedy="Give names alone, without values.")
    pinned = check_commit(commit) if commit else _newest(url)
    folder = data.absolute() / FOLDER / name
    source, env_folder, python = (shlex.quote(str(each)) for each in (folder / "source", folder / "env", _python(folder)))
    return Plan(
        name=name,
        url=url,
        commit=pinned,
        folder=str(folder),
        requires=Requires(gpu=requires_gpu or min_vram_gb > 0, min_vram_gb=min_vram_gb),
        env=tuple(env),
        commands=(
            f"git clone {shlex.quote(url)} {source}   (at {pinned})",
            f"python -m venv {env_folder}",
            f"{python} -m pip install {source}   (runs the package's own build, and fetches what it depends on)",
        ),
    )


def install(plan: Plan, consent: Consent) -> Installed:
    """Raises UsageError where nobody agreed, Conflict where the name is taken, NotMeasured where a step fails."""
    if not consent(plan):
        raise UsageError(f"{plan.name} was not installed: nobody agreed to it.", remedy="Agree at the prompt, or with --yes.")
    folder = Path(plan.folder)
    make_folder(folder.parent)
    with _alone(folder.parent):
        if (folder / _MANIFEST).exists():
            raise Conflict(f"An adapter {plan.name} is installed already.", remedy=f"Remove it: flowgauge registry remove {plan.name}")
        _sweep(folder.parent)
        try:
            return _install(plan, folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise


def installed(data: Path) -> list[Installed]:
    """By name. What was not finished is not there; what has a record that cannot be read is, with its damage."""
    return [_read(file) for file in sorted((data.absolute() / FOLDER).glob(f"*/{_MANIFEST}"))]


def remove(data: Path, name: str) -> Installed:
    """With its environment and all it fetched. Raises NotFound."""
    folder = data.absolute() / FOLDER / check_name(name, "An adapter")
    if not (folder / _MANIFEST).is_file():
        known = [each.name for each in installed(data)]
        raise NotFound(f"No adapter {name!r} is installed. {did_you_mean(name, known)}", remedy="See: flowgauge registry list")
    with _alone(folder.parent):
        gone = _read(folder / _MANIFEST)
        (folder / _MANIFEST).unlink()
        shutil.rmtree(folder)
    return gone


def _install(plan: Plan, folder: Path) -> Installed:
    source = folder / "source"
    folder.mkdir()
    _git("clone", "--no-local", "--no-checkout", "--template=", "--", plan.url, str(source))
    _git("-C", str(source), "checkout", "--detach", "--force", plan.commit, "--")
    _step("making the environment", [sys.executable, "-m", "venv", str(folder / "env")], _for_builds())
    pip = [str(_python(folder)), "-m", "pip", "install", "--no-input", "--disable-pip-version-check", str(source)]
    _step("installing the package", pip, _for_builds())
    made = Installed(
        name=plan.name,
        url=plan.url,
        commit=plan.commit,
        entry_point=_entry_point(plan, folder),
        requires=plan.requires,
        installed_at=time.time_ns() // 1_000_000,
        folder=str(folder),
        env=plan.env,
    )
    write_whole(folder / _MANIFEST, msgspec.json.format(msgspec.json.encode(made)))
    return made


def _entry_point(plan: Plan, folder: Path) -> str:
    """The one of the adapter's name, or the only one; it must also load."""
    home = Home(python=str(_python(folder)), isolated=True, env=plan.env)
    try:
        offered = [str(name) for name in ask(home, {"group": GROUP}, time_limit_s=DESCRIBE_S).get("entry_points") or ()]
        chosen = plan.name if plan.name in offered else offered[0] if len(offered) == 1 else ""
        if not chosen:
            told = f"several adapters: {', '.join(offered)}" if offered else "no adapter"
            remedy = "Name one of them." if offered else f"It must declare an entry point in the group {GROUP}."
            raise UsageError(f"The package offers {told}.", remedy=remedy)
        ask(home, {"in_group": GROUP, "load": chosen, "settings": {}}, time_limit_s=DESCRIBE_S)
    except AdapterFailed as error:
        raise NotMeasured(f"The adapter of {plan.url} cannot be loaded: {error}.", remedy="Mend the package; nothing was kept.") from None
    return chosen


def _newest(url: str) -> str:
    said = _git("ls-remote", "--", url, "HEAD", seconds=_ASK_S).split()
    if not said:
        raise UsageError(f"The repository {url} has no commit on its main branch.", remedy="Commit the package there, or name a --commit.")
    return check_commit(said[0])


def _git(*arguments: str, seconds: float = _STEP_S) -> str:
    """With this process' environment, as keys and agents may be named there; git runs nothing of the repository's."""
    environment = {name: value for name, value in os.environ.items() if name not in ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE")}
    environment |= {"GIT_ALLOW_PROTOCOL": PROTOCOLS, "GIT_TERMINAL_PROMPT": "0", "GIT_LFS_SKIP_SMUDGE": "1"}
    return _step("git", ["git", *_NO_HOOKS, *arguments], environment, seconds)


def _step(what: str, argv: list[str], environment: Mapping[str, str], seconds: float = _STEP_S) -> str:
    try:
        done = run_guarded(argv, environment, Limits(max_bytes=_MOST_BYTES, timeout_s=seconds))
    except Failed as error:
        raise NotMeasured(f"{what} failed: {error.failure.message}", remedy="Nothing was kept.") from None
    if done.exit_code:
        said = (done.stderr.strip() or done.stdout.strip()).decode(errors="replace")[-_TAIL:]
        raise NotMeasured(f"{what} failed (exit code {done.exit_code}): {said}.", remedy="Nothing was kept.")
    return done.stdout.decode(errors="replace")


def _for_builds() -> dict[str, str]:
    """A package's build runs code of its own: it sees no keys of ours."""
    return {name: value for name, value in os.environ.items() if name in _BUILDS_SEE or name.startswith("PIP_")}


@contextlib.contextmanager
def _alone(folder: Path) -> Iterator[None]:
    with locked(folder / ".lock") as had:
        if not had:
            raise Conflict("Another install or removal is under way.", remedy="Try again when it has ended.")
        yield


def _sweep(folder: Path) -> None:
    """What killed installs left. Only with the lock, so nobody is at work in there but what such a one had started, for a moment."""
    deadline = time.monotonic() + _SWEEP_S
    while left := [each for each in folder.iterdir() if each.is_dir() and not (each / _MANIFEST).exists()]:
        for each in left:
            shutil.rmtree(each, ignore_errors=True)
        if any(each.exists() for each in left):
            if time.monotonic() >= deadline:
                raise Conflict(f"{left[0]} cannot be cleared away: something still writes to it.", remedy="End that, or delete the folder.")
            time.sleep(0.1)


def _read(file: Path) -> Installed:
    name, folder = file.parent.name, str(file.parent)
    try:
        found = msgspec.json.decode(file.read_bytes(), type=Installed)
    except (msgspec.DecodeError, OSError) as error:
        damage = f"{file} is no record of an adapter: {error}. Remove the adapter, and install it again."
        return Installed(name=name, url="", commit="", entry_point="", requires=Requires(), installed_at=0, folder=folder, damage=damage)
    # The folder may have been moved, and a file's word is not to name a place elsewhere.
    return msgspec.structs.replace(found, name=name, folder=folder)


def _python(folder: Path) -> Path:
    return folder / "env" / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")

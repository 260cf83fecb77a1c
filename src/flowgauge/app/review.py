"""The review of a change: how large it is, lint, tests, baselines, and a decision.

with opened_store(db) as store:
    found = review(store, data_folder(db), ReviewRequest(base="main", baselines=Asked(…)))

Plain calls that may take minutes; from an event loop through
`registry.stopping.in_thread`. A step that cannot be run is not measured, and does
not stop the others. Raises UsageError for a revision that is none.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Generator, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.review_baselines import Asked, Validates, check_baselines
from flowgauge.app.review_git import Change, Repository
from flowgauge.app.review_steps import TESTS_DEFAULT, Place, ProgramStep, lint_default, run_step
from flowgauge.errors import FlowgaugeError
from flowgauge.model.redaction import Redact, Redactor, secrets_of
from flowgauge.registry.review.changes import DiffStats, stats_of
from flowgauge.registry.review.decision import EXIT_CODES, Review, Step, decide, findings_of, status_of
from flowgauge.registry.review.settings import FILE, ReviewSettings, load_review_settings, words_of
from flowgauge.report.words import plural

if TYPE_CHECKING:
    from flowgauge.store.store import Store

Tell = Callable[[Step], None]
_NAMES_SHOWN = 5


class ReviewRequest(msgspec.Struct, frozen=True, kw_only=True):
    """What is reviewed, and with what."""

    base: str
    head: str | None = None
    """None: the work tree as it is."""
    settings: ReviewSettings = ReviewSettings()
    baselines: Asked = Asked()


def settings_for(data: Path, named: Path | None = None) -> ReviewSettings:
    """The file that is named, else `review.yaml` in the data folder, if it is there. Raises BadFile."""
    file = named or data / FILE
    return load_review_settings(file) if named is not None or file.is_file() else ReviewSettings()


def review(
    store: Store, data: Path, request: ReviewRequest, agents: Validates, *, folder: Path | None = None, tell: Tell | None = None
) -> Review:
    """`folder`: inside the repository; here by default. `tell` hears each step at its end."""
    repository = Repository(folder or Path.cwd())
    change = repository.change(request.base, request.head)
    steps: list[Step] = []

    redact = Redactor(secrets_of(os.environ))

    def done(step: Step) -> None:
        steps.append(_without_secrets(step, redact))
        if tell is not None:
            tell(steps[-1])

    size, diff = _diff(repository, change)
    done(diff)
    with contextlib.closing(_programs(repository, change, request.settings)) as programs:
        for step in programs:
            done(step)
    done(_baseline(store, data, request, agents, repository.folder))
    return _whole(request, change, size, steps, repository)


def _whole(request: ReviewRequest, change: Change, size: DiffStats | None, steps: Sequence[Step], repository: Repository) -> Review:
    decision, reason = decide(steps, size.complexity if size else None, repository.part)
    return Review(
        decision=decision,
        reason=reason,
        exit_code=EXIT_CODES[decision],
        base=request.base,
        head=request.head or "",
        base_sha=change.base_sha,
        head_sha=f"{change.head_sha}+" if change.dirty else change.head_sha,
        merge_base=change.merge_base,
        diff=size,
        steps=tuple(steps),
        findings=findings_of(steps),
        notes=tuple(_notes(repository, change, request)),
    )


def _diff(repository: Repository, change: Change) -> tuple[DiffStats | None, Step]:
    try:
        size = stats_of(repository.changes(change))
    except FlowgaugeError as error:
        return None, Step(name="diff", status="not_measured", reason=str(error))
    if not size.files:
        return size, Step(name="diff", status="not_measured", reason="nothing differs from the base; name the revision that it came from")
    return size, Step(name="diff", status="passed")


def _programs(repository: Repository, change: Change, settings: ReviewSettings) -> Generator[Step, None, None]:
    if "lint" in settings.without:
        yield Step(name="lint", status="left_out")
    with contextlib.ExitStack() as stack:
        try:
            place = stack.enter_context(_place(repository, change))
        except FlowgaugeError as error:
            yield from (_not_run(name, str(error)) for name in _asked(settings))
            return
        for name in _asked(settings):
            yield _program(name, repository, place, settings)


@contextlib.contextmanager
def _place(repository: Repository, change: Change) -> Iterator[Place]:
    if change.head is None:
        yield Place(repository.folder, repository.top, temporary=False)
        return
    with repository.checked_out(change.head) as (folder, top):
        yield Place(folder, top, temporary=True)


def _asked(settings: ReviewSettings) -> tuple[ProgramStep, ...]:
    return ("tests",) if "lint" in settings.without else ("lint", "tests")


def _program(name: ProgramStep, repository: Repository, place: Place, settings: ReviewSettings) -> Step:
    if not place.folder.is_dir():
        return _not_run(name, f"there is no folder {place.folder.name} in what is reviewed")
    said = getattr(settings, name)
    words = words_of(said, name) if said else lint_default(repository, place.folder) if name == "lint" else TESTS_DEFAULT
    if not words:
        return _not_run(name, "no linter is known for this project: name one with --lint, or leave it out with --without lint")
    return run_step(name, words, place, time_limit_s=settings.time_limit_s)


def _not_run(name: ProgramStep, why: str) -> Step:
    return Step(name=name, status="not_measured", reason=why)


def _baseline(store: Store, data: Path, request: ReviewRequest, agents: Validates, folder: Path) -> Step:
    if request.baselines.nothing:
        if "baseline" in request.settings.without:
            return Step(name="baseline", status="left_out")
        why = "no baseline was named: take --baseline, --agent or --upgrade, or leave it out with --without baseline"
        return Step(name="baseline", status="not_measured", reason=why)
    checks = check_baselines(store, data, request.baselines, agents, folder)
    status = status_of(checks)
    reason = " ".join(f"{each.subject}: {each.words}" for each in checks if each.status == status) if status != "passed" else ""
    return Step(name="baseline", status=status, reason=reason, checks=checks)


def _without_secrets(step: Step, redact: Redact) -> Step:
    checks = tuple(msgspec.structs.replace(each, words=redact(each.words)) for each in step.checks)
    return msgspec.structs.replace(step, reason=redact(step.reason), command=redact(step.command), checks=checks)


def _notes(repository: Repository, change: Change, request: ReviewRequest) -> Iterator[str]:
    """Of what else was there when the work tree was looked at."""
    if change.head is not None:
        return
    if request.head is None and (count := repository.untracked()):
        yield f"Not counted in the size: {plural(count, 'file')} of the work tree that git does not know."
    if request.head is not None and (there := repository.ignored()):
        more = f" and {len(there) - _NAMES_SHOWN} more" if len(there) > _NAMES_SHOWN else ""
        yield f"The commit was reviewed where it is checked out, beside what git ignores: {', '.join(there[:_NAMES_SHOWN])}{more}."

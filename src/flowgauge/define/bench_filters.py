"""`--filter config=mini`, `case=short*`, `tag.language=d?`: which part of a bench is run.

In: filters as typed. Out: a Filter that picks configurations and cases by glob.
Filters of one key widen each other, filters of different keys narrow.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

import msgspec

from flowgauge.errors import BadFile
from flowgauge.lang.wording import did_you_mean
from flowgauge.model.bench import Case, Configuration
from flowgauge.model.problem import Problem

LABEL = "--filter"
_KEYS = ("config", "case", "tag.NAME")


class Filter(msgspec.Struct, frozen=True):
    """Globs by key; empty: everything."""

    globs: dict[str, tuple[str, ...]]

    def takes_config(self, config: Configuration) -> bool:
        """Is the configuration one of those asked for?"""
        return self._fits("config", config.name)

    def takes_case(self, case: Case) -> bool:
        """By name and by tags; a case without the tag is not taken."""
        if not self.globs:
            return True
        tags = all(self._fits(key, case.tags.get(key[4:])) for key in self.globs if key.startswith("tag."))
        return tags and self._fits("case", case.name)

    def text(self, *keys: str) -> str:
        """The filters of these keys, as they were typed."""
        return ", ".join(f"{key}={glob}" for key in keys for glob in self.globs[key])

    def _fits(self, key: str, value: str | None) -> bool:
        globs = self.globs.get(key)
        return not globs or (value is not None and any(fnmatchcase(value, glob) for glob in globs))


def parse_filters(filters: Iterable[str]) -> Filter:
    """Raises BadFile that lists all that cannot be read."""
    globs: dict[str, tuple[str, ...]] = {}
    problems: list[Problem] = []
    for text in filters:
        key, equals, glob = (part.strip() for part in text.partition("="))
        if not equals or not glob:
            problems.append(
                Problem(0, text, "Nothing is asked for.", "Write config=NAME, case=NAME or tag.KEY=VALUE; * stands for anything.")
            )
        elif key not in ("config", "case") and not (key.startswith("tag.") and len(key) > 4):
            problems.append(Problem(0, text, f"There is no filter '{key}'.", did_you_mean(key, _KEYS)))
        else:
            globs[key] = (*globs.get(key, ()), glob)
    if problems:
        raise BadFile(LABEL, problems)
    return Filter(globs)


def chosen_configs(configs: Sequence[Configuration], chosen: Filter) -> tuple[Configuration, ...]:
    """Raises BadFile where none is left."""
    taken = tuple(config for config in configs if chosen.takes_config(config))
    if configs and not taken:
        names = [config.name for config in configs]
        raise BadFile(
            LABEL, [Problem(0, chosen.text("config"), "No configuration is called so.", did_you_mean(chosen.globs["config"][0], names))]
        )
    return taken


def refuse_none(chosen: Filter, names: Sequence[str]) -> None:
    """No case is left: say which there are."""
    keys = [key for key in chosen.globs if key != "config"]
    raise BadFile(LABEL, [Problem(0, chosen.text(*keys), "No case fits.", did_you_mean(chosen.globs.get("case", ("",))[0], names))])

"""The benchmark registry, joined: which adapters there are, running them, installing more.

with opened_store(db) as store:
    registry = Registry(store, data_folder(db))
    registry.capture_snapshot("v2.1.0", tier="fast")
    safe, reason = registry.is_upgrade_safe("v2.0.0", "v2.1.0")

Plain calls, which may take minutes; from an event loop through `asyncio.to_thread`.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from flowgauge.app.snapshots import Snapshots
from flowgauge.registry import discovery, installing
from flowgauge.registry.running import Tell, run_adapters
from flowgauge.registry.settings import FILE, Settings, load_settings
from flowgauge.registry.snapshot import ASKED, WAIT_S, AskedTier, Snapshot
from flowgauge.registry.upgrade import UpgradeCheck

if TYPE_CHECKING:
    from flowgauge.registry.adapter import Adapter, Description, Outcome
    from flowgauge.registry.discovery import Candidate
    from flowgauge.registry.installing import Consent, Installed
    from flowgauge.store.store import Store


class Registry:
    """Everything that can be asked of it. `settings_file`: where none is named, `registry.yaml` in the data folder, if it is there."""

    def __init__(self, store: Store, data: Path, *, settings_file: Path | None = None, time_limit_s: float | None = None) -> None:
        self._store = store
        self._data = data
        self._file = settings_file
        self._time_limit_s = time_limit_s
        self.snapshots = Snapshots(store, data)

    @cached_property
    def settings(self) -> Settings:
        """Read once. Raises BadFile with every mistake."""
        file = self._file or self._data / FILE
        there = self._file is not None or file.is_file()
        found = load_settings(file, discovery.names_elsewhere(self.installed())) if there else Settings()
        return msgspec.structs.replace(found, time_limit_s=self._time_limit_s) if self._time_limit_s else found

    def register_benchmark(self, adapter: Adapter) -> None:
        """Known to this process from now on."""
        discovery.register_benchmark(adapter)

    def list_benchmarks(self) -> list[Description]:
        """All adapters, and what each would miss now."""
        return [candidate.description for candidate in self._candidates()]

    def run(self, names: Sequence[str] = (), *, tier: AskedTier = "fast", tell: Tell | None = None) -> tuple[Outcome, ...]:
        """Those that are named, else all of a tier. Stores nothing. Raises NotFound."""
        candidates = self._candidates()
        if names:
            return run_adapters(discovery.choose(candidates, names, self._store, self.settings), tell)
        return run_adapters(_of(candidates, tier), tell)

    def capture_snapshot(
        self, version: str, git_sha: str = "", tier: AskedTier = "fast", *, tell: Tell | None = None, wait_s: float = WAIT_S
    ) -> Snapshot:
        """Run the adapters of a tier (all: of every tier) and keep what they measured under the version, in its file and in the store.

        `git_sha`: the commit checked out here where it is not given. Raises Conflict where another capture does not end within `wait_s`.
        """
        return self.snapshots.capture(
            version, git_sha, tier, lambda taken: run_adapters(_of(self._candidates(), tier), tell, taken), wait_s=wait_s
        )

    def is_upgrade_safe(self, old_version: str, new_version: str) -> tuple[bool, str]:
        """Is no fast-tier metric of the new version worse than the old one's by more than 5 %? And why."""
        found = self.upgrade_check(old_version, new_version)
        return found.safe, found.reason

    def upgrade_check(self, old_version: str, new_version: str, *, strict: bool = False) -> UpgradeCheck:
        """The same with every metric's line and an exit code."""
        return self.snapshots.upgrade_check(old_version, new_version, strict=strict)

    def get_latest_results(self) -> Snapshot | None:
        """The snapshot that was captured last; None where there is none."""
        return self.snapshots.latest()

    def installed(self) -> list[Installed]:
        """Adapters from repositories."""
        return installing.installed(self._data)

    def discover_and_install(
        self,
        repo_url: str,
        name: str,
        requires_gpu: bool = False,
        min_vram_gb: float = 0.0,
        *,
        consent: Consent,
        commit: str = "",
        env: Sequence[str] = (),
    ) -> Installed:
        """Clone at one commit and install into an environment of its own, if `consent` agrees to the plan that it is shown."""
        plan = installing.make_plan(self._data, repo_url, name, requires_gpu=requires_gpu, min_vram_gb=min_vram_gb, commit=commit, env=env)
        return installing.install(plan, consent)

    def remove(self, name: str) -> Installed:
        """An adapter from a repository, with its environment. Raises NotFound."""
        return installing.remove(self._data, name)

    def _candidates(self) -> list[Candidate]:
        return discovery.find_candidates(self._store, self.settings, self.installed())


def _of(candidates: list[Candidate], tier: AskedTier) -> list[Candidate]:
    return [each for each in candidates if each.description.tier in ASKED[tier]]

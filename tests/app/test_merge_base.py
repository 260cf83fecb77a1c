"""The merge base of a branch is found in real repositories; what git cannot tell is said with what to do."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.app.git_folder import GitFolder, git_environment

from flowgauge.app.merge_base import ancestors_of_merge_base, is_shallow
from flowgauge.app.provenance import commit_here
from flowgauge.errors import UsageError


@pytest.fixture(autouse=True)
def _own_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in git_environment().items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def repository(tmp_path: Path) -> GitFolder:
    return GitFolder(tmp_path / "here")


def test_commits_from_the_merge_base_backwards_newest_first(repository: GitFolder) -> None:
    first, second, third = (repository.commit() for _ in range(3))
    repository.git("switch", "--quiet", "--create", "feature", second)
    repository.commit("mine")
    assert ancestors_of_merge_base("main", repository.path) == (second, first)
    assert third not in ancestors_of_merge_base("main", repository.path)


def test_no_more_than_asked_for(repository: GitFolder) -> None:
    made = [repository.commit() for _ in range(5)]
    assert ancestors_of_merge_base("main", repository.path, limit=2) == (made[4], made[3])


def test_on_the_branch_itself_the_base_is_the_commit_here(repository: GitFolder) -> None:
    first, second = repository.commit(), repository.commit()
    assert ancestors_of_merge_base("main", repository.path) == (second, first)


def test_commits_are_spelled_as_benchmarks_store_them(repository: GitFolder) -> None:
    (repository.path / "file").write_text("1")
    repository.commit()
    assert ancestors_of_merge_base("main", repository.path) == (commit_here(repository.path),)
    (repository.path / "file").write_text("2")
    assert commit_here(repository.path) not in ancestors_of_merge_base("main", repository.path)


def test_after_a_merge_the_base_is_what_was_merged(repository: GitFolder) -> None:
    first = repository.commit()
    repository.git("switch", "--quiet", "--create", "feature")
    mine = repository.commit("mine")
    repository.git("switch", "--quiet", "main")
    theirs = repository.commit("theirs")
    repository.git("switch", "--quiet", "feature")
    repository.git("merge", "--quiet", "--no-edit", "main")
    assert ancestors_of_merge_base("main", repository.path) == (theirs, first)
    assert mine not in ancestors_of_merge_base("main", repository.path)


def test_from_a_folder_further_in_and_from_a_second_working_tree(repository: GitFolder, tmp_path: Path) -> None:
    first = repository.commit()
    inner = repository.path / "a" / "b"
    inner.mkdir(parents=True)
    repository.git("worktree", "add", "--quiet", "--detach", str(tmp_path / "there"))
    assert ancestors_of_merge_base("main", inner) == (first,)
    assert ancestors_of_merge_base("main", tmp_path / "there") == (first,)


def test_a_branch_that_is_only_at_origin_as_in_ci(repository: GitFolder, tmp_path: Path) -> None:
    first = repository.commit()
    repository.git("switch", "--quiet", "--create", "feature")
    repository.commit("mine")
    clone = GitFolder(tmp_path / "ci", clone_of=repository, options=("--branch", "feature"))
    assert clone.git("branch", "--list", "main") == ""
    assert ancestors_of_merge_base("main", clone.path) == (first,)


def test_a_tag_or_a_hash_will_do(repository: GitFolder) -> None:
    first = repository.commit()
    repository.git("tag", "-a", "v1", "-m", "one")
    repository.commit()
    assert ancestors_of_merge_base("v1", repository.path) == (first,)
    assert ancestors_of_merge_base(first[:10], repository.path) == (first,)


def test_a_repository_of_sha256(tmp_path: Path) -> None:
    repository = GitFolder(tmp_path / "here", options=("--object-format=sha256",))
    first = repository.commit()
    assert len(first) == 64
    assert ancestors_of_merge_base("main", repository.path) == (first,)


def test_a_folder_without_a_repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("GIT_CEILING_DIRECTORIES", str(tmp_path.parent))
    monkeypatch.setenv("LC_ALL", "de_DE.UTF-8")
    with pytest.raises(UsageError, match="is in no git repository: not a git repository"):
        ancestors_of_merge_base("main", tmp_path)


def test_a_folder_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot change to"):
        ancestors_of_merge_base("main", tmp_path / "none")


def test_a_machine_without_git(repository: GitFolder, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    repository.commit()
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(UsageError, match=r"git cannot be started: No such file or directory\. Install git"):
        ancestors_of_merge_base("main", repository.path)


def test_a_repository_without_a_commit(repository: GitFolder) -> None:
    with pytest.raises(UsageError, match="has no commit yet"):
        ancestors_of_merge_base("main", repository.path)


def test_a_branch_that_there_is_not(repository: GitFolder) -> None:
    repository.commit()
    with pytest.raises(
        UsageError, match=r"no branch 'mian' here, nor at origin\. Did you mean 'main'\? Or fetch it: git fetch origin mian"
    ):
        ancestors_of_merge_base("mian", repository.path)


def test_in_a_shallow_clone_the_remedy_is_the_whole_history(repository: GitFolder, tmp_path: Path) -> None:
    repository.commit()
    repository.git("switch", "--quiet", "--create", "feature")
    repository.commit("mine")
    clone = GitFolder(tmp_path / "ci", clone_of=repository, options=("--depth", "1", "--branch", "feature"))
    assert is_shallow(clone.path)
    assert not is_shallow(repository.path)
    with pytest.raises(UsageError, match=r"no branch 'main' here.*fetch-depth: 0"):
        ancestors_of_merge_base("main", clone.path)
    clone.git("fetch", "--quiet", "--depth", "1", "origin", "main:refs/remotes/origin/main")
    with pytest.raises(UsageError, match=r"no common ancestor here\. This clone is shallow: .*fetch-depth: 0"):
        ancestors_of_merge_base("main", clone.path)


def test_histories_that_have_nothing_to_do_with_each_other(repository: GitFolder) -> None:
    repository.commit()
    repository.git("switch", "--quiet", "--orphan", "pages")
    repository.commit("pages")
    with pytest.raises(UsageError, match=r"HEAD and 'main' have no common ancestor here\. Name a branch that this one comes from\."):
        ancestors_of_merge_base("main", repository.path)


@pytest.mark.parametrize(
    "branch",
    [
        pytest.param("--output=stolen", id="an option"),
        pytest.param("-h", id="a short option"),
        pytest.param("", id="nothing"),
        pytest.param("^main", id="an exclusion"),
        pytest.param("a b", id="two words"),
        pytest.param("main\n--all", id="two lines"),
        pytest.param("main\x00", id="a zero byte"),
    ],
)
def test_what_cannot_be_a_branch_never_reaches_git(repository: GitFolder, branch: str) -> None:
    repository.commit()
    with pytest.raises(UsageError, match="is no branch"):
        ancestors_of_merge_base(branch, repository.path)
    assert sorted(path.name for path in repository.path.iterdir()) == [".git"]


@pytest.mark.parametrize("branch", ["main..other", "main:file", "HEAD~7", "@{upstream}", "..", "main^{tree}"])
def test_what_names_no_commit_is_no_branch(repository: GitFolder, branch: str) -> None:
    repository.commit()
    with pytest.raises(UsageError, match="There is no branch"):
        ancestors_of_merge_base(branch, repository.path)

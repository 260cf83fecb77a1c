"""The documents say what the program does: every command, option, variable, table, link and example."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import click
import pytest

from flowgauge.cli.root import COMMANDS, cli

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "flowgauge"
SHARED = frozenset({"--help", "-h"})
"""Of every command: said once, under the program's own heading."""

Path_ = tuple[str, ...]


@cache
def tree() -> dict[Path_, click.Context]:
    """Every command by its path, as the program itself finds it."""
    found: dict[Path_, click.Context] = {}

    def walk(command: click.Command, path: Path_, parent: click.Context | None) -> None:
        context = click.Context(command, info_name=path[-1], parent=parent, **({} if parent else command.context_settings))
        found[path] = context
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                inner = command.get_command(context, name)
                assert inner is not None
                walk(inner, (*path, name), context)

    walk(cli, ("flowgauge",), None)
    return found


@cache
def sections() -> dict[Path_, str]:
    """docs/commands.md by the commands that its headings name."""
    parts = re.split(r"^#{2,3} (flowgauge(?: [a-z-]+)*)$", _read(DOCS / "commands.md"), flags=re.MULTILINE)
    return {tuple(name.split()): text for name, text in zip(parts[1::2], parts[2::2], strict=True)}


def markdown() -> list[Path]:
    """Every .md of the repository, whether git knows it yet or not."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.md"]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False).stdout.split("\n")
    found = [ROOT / name for name in listed if name] or [*ROOT.glob("*.md"), *DOCS.rglob("*.md")]
    return sorted(path for path in found if path.exists())


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8")


def _prose(text: str) -> str:
    """Without code blocks."""
    return re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)


def _code_words(text: str) -> set[str]:
    """All names that stand between backticks."""
    return set(re.findall(r"[a-z0-9_]+", " ".join(re.findall(r"`([^`]+)`", _prose(text)))))


def _rows(path: Path_) -> list[list[str]]:
    """The table of a command: its rows as cells; a bar that is escaped does not part cells."""
    lines = [line for line in sections()[path].splitlines() if line.startswith("| `")]
    return [[cell.strip().replace(r"\|", "|") for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


PATHS = [pytest.param(path, id=" ".join(path)) for path in tree()]


def test_every_command_has_a_heading_and_every_heading_a_command() -> None:
    assert set(sections()) == set(tree())


@pytest.mark.parametrize("path", PATHS)
def test_every_argument_and_option_stands_under_its_command_and_no_other(path: Path_) -> None:
    context = tree()[path]
    expected: set[str] = set()
    for parameter in context.command.get_params(context):
        expected |= (
            {parameter.make_metavar(context)} if isinstance(parameter, click.Argument) else {*parameter.opts, *parameter.secondary_opts}
        )
    if len(path) > 1:
        expected -= SHARED
    named = [word for row in _rows(path) for word in re.findall(r"`([^`]+)`", row[0])]
    documented = {word.split(" ")[0] if word.startswith("-") else word for word in named}
    assert documented == expected


@pytest.mark.parametrize("path", PATHS)
def test_the_variable_of_every_option_is_named(path: Path_) -> None:
    context = tree()[path]
    expected = {
        parameter.opts[-1]: f"`{parameter.envvar or f'{context.auto_envvar_prefix}_{str(parameter.name).upper()}'}`"
        for parameter in context.command.params
        if isinstance(parameter, click.Option) and len(path) > 1
    }
    documented = {option: row[1] for row in _rows(path) for option in re.findall(r"`(--?[a-z-]+)", row[0])}
    assert {option: documented.get(option) for option in expected} == expected


@pytest.mark.parametrize("path", PATHS)
def test_sub_commands_exist_where_the_text_names_them(path: Path_) -> None:
    for named in re.findall(r"`flowgauge ([a-z- ]+?)(?: [A-Z{\[-][^`]*)?`", sections()[path]):
        assert ("flowgauge", *named.split()) in tree(), named


@pytest.mark.parametrize("name", COMMANDS)
def test_the_list_of_commands_says_what_the_command_itself_says_first(name: str) -> None:
    assert COMMANDS[name][1] == tree()["flowgauge", name].command.get_short_help_str(limit=1000)


def test_every_variable_of_our_own_is_in_the_configuration() -> None:
    automatic = {
        f"{context.auto_envvar_prefix}_{str(parameter.name).upper()}" for context in tree().values() for parameter in context.command.params
    }
    read = {name for file in SOURCE.rglob("*.py") for name in re.findall(r"\b_?FLOWGAUGE_[A-Z_]+\b", _read(file))}
    documented = set(re.findall(r"^\| `(_?FLOWGAUGE_[A-Z_]+)`", _read(DOCS / "configuration.md"), flags=re.MULTILINE))
    assert documented - {"FLOWGAUGE_COMMAND_OPTION"} == read - automatic


def test_every_key_of_a_provider_is_in_the_table_of_providers() -> None:
    from flowgauge.providers.wire.endpoints import ANTHROPIC, OPENAI_COMPATIBLE

    endpoints = {"anthropic": ANTHROPIC, **OPENAI_COMPATIBLE}
    rows = re.findall(
        r"^\| `([a-z]+)` \| `([A-Z_]+_KEY)`(?:, not needed)? \| (?:`([^`]+)`|none)", _read(DOCS / "providers.md"), re.MULTILINE
    )
    assert {name: (key, url) for name, key, url in rows} == {name: (row.key_env, row.base_url) for name, row in endpoints.items()}


def test_every_mock_profile_and_every_field_of_a_profile_file_is_documented() -> None:
    import msgspec

    from flowgauge.providers.mock import profiles

    text = _read(DOCS / "providers.md").partition("## The mock provider")[2]
    parts = (profiles.Profile, profiles.Latency, profiles.Price, profiles.Script, profiles.Turn, profiles.Fault, profiles.Override)
    fields = {field.name for part in parts for field in msgspec.structs.fields(part)}
    assert {*profiles.BUILT_IN, *fields} - _code_words(text) == set()


def test_every_table_of_the_store_is_documented() -> None:
    from flowgauge.store.schema import metadata

    assert set(re.findall(r"^\| `([a-z_]+)` \|", _read(DOCS / "store.md"), flags=re.MULTILINE)) >= set(metadata.tables)


@pytest.mark.parametrize("kind", ["Play", "NodeRun", "Step", "Failure"])
def test_every_field_of_a_record_is_documented(kind: str) -> None:
    from flowgauge.model import play

    records = _read(DOCS / "plays.md").partition("## Records")[2]
    assert set(getattr(play, kind).__struct_fields__) - _code_words(records) == set()


@pytest.mark.parametrize("file", [pytest.param(file, id=str(file.relative_to(ROOT))) for file in markdown()])
def test_every_relative_link_leads_somewhere(file: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", _prose(_read(file))):
        place, _, anchor = target.partition("#")
        if re.match(r"[a-z]+:", target):
            continue
        there = (file.parent / place).resolve() if place else file
        assert there.exists(), f"{target} names no file"
        assert not anchor or anchor in _anchors(there), f"{target} names no heading"


def _anchors(file: Path) -> set[str]:
    """As GitHub makes them: small letters, no marks, dashes for blanks."""
    headings = re.findall(r"^#+ (.+)$", _read(file), flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-") for heading in headings}


def _command_lines() -> Iterator[tuple[str, str]]:
    for file in markdown():
        for block in re.findall(r"^```(?:console|sh|bash|shell)\n(.*?)^```$", _read(file), flags=re.MULTILINE | re.DOTALL):
            joined = block.replace("\\\n", " ").splitlines()
            prompts = any(line.startswith("$ ") for line in joined)
            for line in joined:
                if "flowgauge" in line and (line.startswith("$ ") or not prompts):
                    yield str(file.relative_to(ROOT)), line.removeprefix("$ ")


def _calls(line: str) -> Iterator[list[str]]:
    """Every call of the program in a line of shell, without what is around it."""
    inner = re.sub(r'"\$\((.*?)\)"', r"; \1 ;", line)
    lexer = shlex.shlex(inner, posix=True, punctuation_chars=";|&<>")
    lexer.commenters = "#"
    lexer.whitespace_split = True
    call: list[str] = []
    for word in [*lexer, ";"]:
        if word and not set(word) - set(";|&<>"):
            words = call[next((at for at, part in enumerate(call) if "=" not in part), len(call)) :]
            if words and words[0].rpartition("/")[2] == "flowgauge":
                yield words[1:]
            call = []
        else:
            call.append(word)


@pytest.mark.parametrize(("file", "line"), [pytest.param(file, line, id=f"{file}: {line}") for file, line in _command_lines()])
def test_every_command_line_in_the_documents_is_one(file: str, line: str) -> None:
    del file
    for arguments in _calls(line):
        command: click.Command = cli
        path: Path_ = ("flowgauge",)
        while isinstance(command, click.Group) and arguments and not arguments[0].startswith("-"):
            path = (*path, arguments[0])
            assert path in tree(), f"There is no command {' '.join(path)}"
            command, arguments = tree()[path].command, arguments[1:]
        _parse(command, arguments, path)


def _parse(command: click.Command, arguments: list[str], path: Path_) -> None:
    """Words only: files that are not here are no mistake of the line."""
    context = tree()[path]
    parser = command.make_parser(context)
    values, rest, _ = parser.parse_args(list(arguments))
    assert not rest, f"{' '.join(path)} takes no {rest}"
    asks_for_help = any(values.get(str(parameter.name)) for parameter in context.command.get_params(context) if parameter.is_eager)
    missing = [
        parameter.name
        for parameter in command.params
        if parameter.required and isinstance(parameter, click.Argument) and values.get(str(parameter.name)) in (None, ())
    ]
    assert asks_for_help or not missing, f"{' '.join(path)} needs {missing}"


def test_the_examples_of_the_documents_were_found() -> None:
    """So that a change of the fences cannot silence the test above."""
    assert len(list(_command_lines())) > 30


@pytest.mark.parametrize("file", sorted(path.name for path in DOCS.glob("*.md") if path.name != "README.md"))
def test_the_index_leads_to_every_document(file: str) -> None:
    assert f"]({file}" in _read(DOCS / "README.md")


def test_exit_codes_are_those_of_the_errors() -> None:
    from flowgauge import errors
    from flowgauge.cli.playing import EXIT_CODES
    from flowgauge.cli.root import INTERRUPTED

    kinds = [kind for kind in vars(errors).values() if isinstance(kind, type) and issubclass(kind, errors.FlowgaugeError)]
    used = {*EXIT_CODES.values(), INTERRUPTED, *(kind.exit_code for kind in kinds)}
    table = _read(DOCS / "commands.md").partition("**Exit codes.**")[2].partition("**Machines.**")[0]
    assert {int(code) for code in re.findall(r"^\| (\d+) \|", table, flags=re.MULTILINE)} == used

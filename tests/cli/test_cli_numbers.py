from __future__ import annotations

from collections.abc import Iterator

import click
import pytest
from click.testing import CliRunner

from flowgauge.cli.options import Finite
from flowgauge.cli.root import cli


def options(group: click.Group, way: tuple[str, ...] = ()) -> Iterator[tuple[tuple[str, ...], click.Option]]:
    """Every option of every command, with the words that lead to the command."""
    for name in group.list_commands(click.Context(group)):
        command = group.get_command(click.Context(group), name)
        assert command is not None
        if isinstance(command, click.Group):
            yield from options(command, (*way, name))
        else:
            yield from (((*way, name), each) for each in command.params if isinstance(each, click.Option))


def floats() -> list[tuple[tuple[str, ...], click.Option]]:
    return [(way, each) for way, each in options(cli) if isinstance(each.type, click.types.FloatParamType)]


def test_every_option_that_is_a_number_with_a_point_is_finite() -> None:
    found = floats()
    assert ("daemon",) in [way for way, _ in found]
    assert [(way, each.name) for way, each in found if not isinstance(each.type, Finite)] == []


@pytest.mark.parametrize("number", ["nan", "inf", "-inf"])
def test_no_command_takes_a_number_that_is_none(number: str) -> None:
    for way, each in floats():
        with pytest.raises(click.BadParameter):
            each.type.convert(number, each, click.Context(click.Command("x")))
        assert way


@pytest.mark.parametrize(
    "words",
    [
        ("daemon", "--once", "--tick", "nan"),
        ("snapshot", "compare", "v1", "v2", "--tolerance", "nan"),
        ("snapshot", "capture", "v1", "--time-limit", "nan"),
        ("registry", "install", "x", "--name", "y", "--min-vram-gb", "inf"),
        ("store", "prune", "--days", "nan"),
    ],
)
def test_a_number_that_is_none_is_wrong_use(words: tuple[str, ...]) -> None:
    done = CliRunner().invoke(cli, words)
    assert done.exit_code == 2
    assert words[-2] in done.stderr

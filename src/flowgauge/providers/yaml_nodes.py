"""YAML text to values, with the line of every key. Imported on use: PyYAML takes its time.

Text in; the value, the lines and the keys that were given twice out. Refuses
aliases and what is not YAML.
"""

from __future__ import annotations

import yaml

from flowgauge.model.workflow import Json

Place = tuple[str | int, ...]


class NotYaml(Exception):
    """The text cannot be read; `line` is 0 where it is not known."""

    def __init__(self, message: str, line: int) -> None:
        super().__init__(message)
        self.line = line


def parse(text: str) -> tuple[Json, dict[Place, int], list[tuple[Place, int]]]:
    """An empty text is None. Of a key given twice the first line is kept and the second listed."""
    lines: dict[Place, int] = {}
    twice: list[tuple[Place, int]] = []
    try:
        loader = _Loader(text)
        node = loader.get_single_node()
        if node is None:
            return None, lines, twice
        _walk(node, (), lines, twice)
        return loader.construct_document(node), lines, twice
    except yaml.MarkedYAMLError as error:
        raise NotYaml(str(error.problem), error.problem_mark.line + 1 if error.problem_mark else 0) from error
    except (yaml.YAMLError, RecursionError, ValueError) as error:
        raise NotYaml(str(error).splitlines()[0], 0) from error


class _Loader(yaml.SafeLoader):
    """Safe, without aliases, and with YAML 1.2's booleans: `on` and `no` are words."""

    yaml_implicit_resolvers = {
        first: [(tag, pattern) for tag, pattern in resolvers if tag != "tag:yaml.org,2002:bool" or first in "tTfF"]
        for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
    }

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        if self.check_event(yaml.AliasEvent):
            raise yaml.MarkedYAMLError(problem="aliases (*name) are not allowed here", problem_mark=self.get_mark())
        return super().compose_node(parent, index)


def _walk(node: yaml.Node, place: Place, lines: dict[Place, int], twice: list[tuple[Place, int]]) -> None:
    lines.setdefault(place, node.start_mark.line + 1)
    if isinstance(node, yaml.MappingNode):
        for key_node, value_node in node.value:
            below = (*place, str(key_node.value))
            line = key_node.start_mark.line + 1
            if below in lines:
                twice.append((below, line))
            lines.setdefault(below, line)
            _walk(value_node, below, lines, twice)
    elif isinstance(node, yaml.SequenceNode):
        for index, item in enumerate(node.value):
            _walk(item, (*place, index), lines, twice)

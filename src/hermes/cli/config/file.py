"""Edit config.yaml and .env without touching anything else: comments, order, unknown lines."""

import io
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.comments import CommentedMap
from ruamel.yaml.error import YAMLError

from hermes.cli.output.files import saved
from hermes.core.errors import Misconfigured
from hermes.settings.shape import is_secret
from hermes.settings.sources import read_config, read_text

WIDTH = 4096  # long values stay on their line


def with_setting(text: str, path: tuple[str, ...], value: object) -> str:
    """Return the text of config.yaml with one value changed; None removes the key."""
    tree = _parse(text)
    node = tree
    for name in path[:-1]:
        if not isinstance(node.get(name), Mapping):
            if value is None:
                return text
            node[name] = CommentedMap()
        node = node[name]
    if value is None:
        node.pop(path[-1], None)
    else:
        node[path[-1]] = value
    return _dump(tree)


def without_secrets(text: str) -> str:
    """Return the text of config.yaml with each secret replaced by a reference, for a backup."""
    tree = _parse(text)
    for node, path in _places(tree, ()):
        value = node[path[-1]]
        if is_secret(path) and value and not str(value).startswith("${"):
            node[path[-1]] = f"${{{reference(path)}}}"
    return _dump(tree)


def reference(path: tuple[str, ...]) -> str:
    """Return the variable that stands in for a secret of the file."""
    return re.sub(r"[^A-Z0-9]+", "_", "_".join(path).upper())


def with_secret(text: str, name: str, value: str) -> str:
    """Return the text of .env with one NAME=VALUE changed or added."""
    line = f"{name}={quoted(value)}"
    mine = re.compile(rf"\s*(?:export\s+)?{re.escape(name)}\s*=")
    lines = [line if mine.match(old) else old for old in text.splitlines()]
    if line not in lines:
        lines.append(line)
    return "\n".join(lines) + "\n"


def without_secret(text: str, name: str) -> str:
    """Return the text of .env without lines for this name."""
    mine = re.compile(rf"\s*(?:export\s+)?{re.escape(name)}\s*=")
    return "".join(f"{line}\n" for line in text.splitlines() if not mine.match(line))


def quoted(value: str) -> str:
    if re.fullmatch(r"[\w./:@%+=,-]*", value):
        return value
    escaped = value.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'


def save_setting(file: Path, path: tuple[str, ...], value: object) -> None:
    """Change one setting in the file. Raise Misconfigured, and change nothing, when the file cannot
    be read."""
    read_config(file)
    saved(file, with_setting(read_text(file), path, value).encode())


def save_secret(file: Path, name: str, value: str) -> None:
    saved(file, with_secret(read_text(file), name, value).encode())


def _parse(text: str) -> CommentedMap:
    try:
        tree = _yaml().load(text)
    except YAMLError as broken:
        problem = " ".join(str(broken).split())
        raise Misconfigured("config.yaml", problem, "Run: hermes config edit") from broken
    return tree if isinstance(tree, CommentedMap) else CommentedMap()


def _dump(tree: CommentedMap) -> str:
    out = io.StringIO()
    if tree:
        _yaml().dump(tree, out)
    return out.getvalue()


def _yaml() -> YAML:
    yaml = YAML(typ="rt")
    yaml.preserve_quotes = True
    yaml.width = WIDTH
    return yaml


def _places(node: Any, path: tuple[str, ...]) -> Iterator[tuple[Any, tuple[str, ...]]]:
    """Yield each mapping that contains a plain value, with the path of keys to it."""
    if isinstance(node, Mapping):
        for name, value in node.items():
            if isinstance(value, Mapping | list):
                yield from _places(value, (*path, str(name)))
            else:
                yield node, (*path, str(name))
    elif isinstance(node, list):
        for n, each in enumerate(node):
            yield from _places(each, (*path, str(n)))

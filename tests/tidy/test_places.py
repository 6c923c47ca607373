"""What a platform is stands in its manifest, and what a session key says is read in one place."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from hermes.app.platforms import known_platforms
from hermes.channels.local.manifest import OWN

ROOT = Path(__file__).parents[2]
SOURCES = ROOT / "src" / "hermes"
ENGINE = ("core", "agent", "gateway", "memory", "backup")
CLI = "src/hermes/cli/"
KEYS = "src/hermes/core/ids.py"
# What is left in the commands of the terminal, counted over all of them; both only go down.
CLI_SPLITS, CLI_PLATFORMS = 2, 12
# An origin is called like a platform there: it says how a message came about, not where.
ORIGINS = {
    "src/hermes/core/principal.py": {"webhook"},
    "src/hermes/core/policy.py": {"webhook"},
    "src/hermes/agent/permit.py": {"webhook"},
}


def trees(*packages: str) -> Iterator[tuple[str, ast.Module]]:
    folders = [SOURCES / package for package in packages] or [SOURCES]
    for path in (path for folder in folders for path in sorted(folder.rglob("*.py"))):
        yield str(path.relative_to(ROOT)), ast.parse(path.read_text(encoding="utf-8"))


def splits(tree: ast.Module) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        match node:
            case ast.Call(
                func=ast.Attribute(attr="split" | "rsplit"), args=[ast.Constant(value=":"), *_]
            ):
                yield node
            case _:
                continue


def platforms_in(tree: ast.Module) -> Iterator[tuple[int, str, str]]:
    """The line, the text and the name of each string that is a platform's, alone or with a chat."""
    platforms = {*known_platforms(), OWN.name}
    spelled = re.compile(rf"({'|'.join(sorted(platforms))})(:.*)?", re.DOTALL)
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            fits = spelled.fullmatch(node.value)
            if fits is not None:
                yield node.lineno, node.value, fits[1]


def test_session_keys_are_split_in_one_place() -> None:
    found = [name for name, tree in trees() for _ in splits(tree) if name != KEYS]
    assert [name for name in found if not name.startswith(CLI)] == []
    assert len(found) <= CLI_SPLITS, found


def test_the_engine_names_no_platform() -> None:
    found = [
        f"{name}:{line} {text}"
        for name, tree in trees(*ENGINE)
        for line, text, platform in platforms_in(tree)
        if platform not in ORIGINS.get(name, ())
    ]
    assert found == [], "what a platform is stands in its manifest (core/channel.py)"


def test_the_commands_of_the_terminal_name_platforms_less_and_less() -> None:
    found = [f"{name}:{line}" for name, tree in trees("cli") for line, *_ in platforms_in(tree)]
    assert len(found) <= CLI_PLATFORMS, found


def test_each_exception_is_needed() -> None:
    for name, words in ORIGINS.items():
        text = (ROOT / name).read_text(encoding="utf-8")
        assert all(f'"{word}"' in text for word in words), name

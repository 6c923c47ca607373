"""What can be completed: commands with what they do, and files under the working directory."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hermes.views.call_line import cut
from hermes.views.honest import honest
from hermes.views.scene import Offered

FILES_MAX, LOOKED_AT_MAX, DEPTH_MAX = 50, 20_000, 8
USAGE_CHARS = 30
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__", ".mypy_cache"})
OWN = (
    Offered(name="/skin", summary="Change how this window looks", argument="[NAME]"),
    Offered(name="/unfold", summary="Show the last call in full, or the Nth last", argument="[N]"),
    Offered(
        name="/mode",
        summary="What a message does to a running turn",
        argument="queue|steer|interrupt",
    ),
    Offered(name="/keys", summary="List the keys of this window"),
    Offered(name="/exit", summary="Leave; what runs goes on or waits, nothing is lost"),
)


class Option(NamedTuple):
    text: str
    shown: str
    about: str = ""


def commands(word: str, offered: Iterable[Offered]) -> Sequence[Option]:
    """Those that begin with the word, then those that have it inside."""
    known = {each.name: each for each in (*offered, *OWN)}
    bare = word.removeprefix("/").lower()
    first = [each for name, each in known.items() if name[1:].startswith(bare)]
    inner = [
        each for name, each in known.items() if bare and bare in name[2:] and each not in first
    ]
    return [
        Option(f"{each.name} " if each.argument else each.name, _usage(each), honest(each.summary))
        for each in (*first, *inner)
    ]


def files(word: str, root: Path) -> Sequence[Option]:
    """Paths under the root with the word in them; those that begin with it come first."""
    wanted = word.casefold()
    found = [path for path in walked(root) if wanted in path.casefold()]
    found.sort(key=lambda path: (not path.casefold().startswith(wanted), path.count("/"), path))
    return [Option(f"@{_quoted(path)}", honest(path)) for path in found[:FILES_MAX]]


def walked(root: Path) -> Iterator[str]:
    """Files and folders, nearest first, within a bound; a link is named and not followed."""
    level, looked = [""], 0
    for _ in range(DEPTH_MAX):
        deeper: list[str] = []
        for folder in level:
            for entry in _entries(root / folder):
                looked += 1
                if looked > LOOKED_AT_MAX:
                    return
                name = f"{folder}{entry.name}"
                if entry.is_dir(follow_symlinks=False):
                    if entry.name not in SKIPPED:
                        deeper.append(f"{name}/")
                        yield f"{name}/"
                else:
                    yield name
        level = deeper


def _entries(folder: Path) -> "Sequence[os.DirEntry[str]]":
    try:
        with os.scandir(folder) as entries:
            return sorted(entries, key=lambda entry: entry.name)
    except OSError:
        return ()


def _usage(each: Offered) -> str:
    """Short enough that what it does can be read beside it."""
    return cut(honest(f"{each.name} {each.argument}"), USAGE_CHARS)


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def word_at(text: str) -> tuple[str, str] | None:
    """What stands before the cursor and may be completed: its kind and its word."""
    if text.startswith("/") and not any(char.isspace() for char in text):
        return "command", text
    before, sign, word = text.rpartition("@")
    if sign and (not before or before[-1].isspace()) and not any(c.isspace() for c in word):
        return "file", word
    return None


class Words(Completer):
    """For the line that is being written."""

    def __init__(self, offered: Callable[[], Sequence[Offered]], root: Path) -> None:
        self._offered = offered
        self._root = root

    def get_completions(
        self, document: Document, complete_event: CompleteEvent
    ) -> Iterator[Completion]:
        del complete_event
        match word_at(document.text_before_cursor):
            case ("command", word):
                options = commands(word, self._offered())
                back = len(word)
            case ("file", word):
                options = files(word, self._root)
                back = len(word) + 1
            case _:
                return
        for option in options:
            yield Completion(option.text, -back, display=option.shown, display_meta=option.about)

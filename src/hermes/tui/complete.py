"""Complete the input line: commands with their help, and files under the working directory."""

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from prompt_toolkit.completion import CompleteEvent, Completer, Completion
from prompt_toolkit.document import Document

from hermes.text.visible_text import visible_text
from hermes.views.call_line import cut
from hermes.views.command_words import WINDOW_COMMANDS
from hermes.views.scene import Offered

FILES_MAX, LOOKED_AT_MAX, DEPTH_MAX = 50, 20_000, 8
USAGE_CHARS = 30
SKIPPED = frozenset({".git", ".hg", ".svn", ".venv", "node_modules", "__pycache__", ".mypy_cache"})


class CompletionItem(NamedTuple):
    text: str
    shown: str
    about: str = ""


def commands(word: str, offered: Iterable[Offered]) -> Sequence[CompletionItem]:
    """Return the commands that begin with the word, then those that contain it."""
    known = {each.name: each for each in (*offered, *WINDOW_COMMANDS)}
    bare = word.removeprefix("/").lower()
    first = [each for name, each in known.items() if name[1:].startswith(bare)]
    inner = [
        each for name, each in known.items() if bare and bare in name[2:] and each not in first
    ]
    return [
        CompletionItem(
            f"{each.name} " if each.argument else each.name,
            _usage(each),
            visible_text(each.summary),
        )
        for each in (*first, *inner)
    ]


def files(word: str, root: Path) -> Sequence[CompletionItem]:
    """Return paths under the root that contain the word; those that begin with it come first."""
    wanted = word.casefold()
    found = [path for path in walked(root) if wanted in path.casefold()]
    found.sort(key=lambda path: (not path.casefold().startswith(wanted), path.count("/"), path))
    return [CompletionItem(f"@{_quoted(path)}", visible_text(path)) for path in found[:FILES_MAX]]


def walked(root: Path) -> Iterator[str]:
    """Yield files and folders, nearest first, up to a limit. Links are listed and not followed."""
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
    """Return a command's usage, shortened so that its description fits beside it."""
    return cut(visible_text(f"{each.name} {each.argument}"), USAGE_CHARS)


def _quoted(path: str) -> str:
    return f'"{path}"' if " " in path else path


def word_at(text: str) -> tuple[str, str] | None:
    """Return the kind and the text of the word before the cursor that can be completed."""
    if text.startswith("/") and not any(char.isspace() for char in text):
        return "command", text
    before, sign, word = text.rpartition("@")
    if sign and (not before or before[-1].isspace()) and not any(c.isspace() for c in word):
        return "file", word
    return None


class InputCompleter(Completer):
    """Completions for the input line."""

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

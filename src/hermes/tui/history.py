"""The input history of this home, for the arrow keys of the next window.

A file of JSON lines that only its owner can read. Text that looks like a secret is left out.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path

from prompt_toolkit.history import History

from hermes.core.errors import StoreFailed
from hermes.secrets.shapes import shapes_in
from hermes.views.files import whole_file

NAME = "history"
ENTRIES_MAX, ENTRY_CHARS_MAX, FILE_BYTES_MAX = 1_000, 10_000, 20_000_000


def keeps(text: str) -> bool:
    """Return True if the text is kept. A line that begins with a space is not, as in a shell."""
    fits = 0 < len(text) <= ENTRY_CHARS_MAX and not text.startswith(" ")
    return fits and bool(text.strip()) and next(iter(shapes_in(text)), None) is None


def parsed(lines: Iterable[str]) -> Sequence[str]:
    """Return the texts, oldest first, each once where it was last used. A torn line is skipped."""
    texts: dict[str, None] = {}
    for line in lines:
        try:
            text = json.loads(line)
        except ValueError:
            continue
        if isinstance(text, str) and text:
            texts.pop(text, None)
            texts[text] = None
    return list(texts)[-ENTRIES_MAX:]


class InputHistory(History):
    """The history. Windows append to the same file; each sees the others' lines at its next
    start."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self._file = file

    def load_history_strings(self) -> Iterable[str]:
        try:
            with self._file.open("rb") as file:
                raw = file.read(FILE_BYTES_MAX)
        except OSError:
            return ()
        lines = raw.decode("utf-8", "replace").splitlines()
        texts = parsed(lines)
        if len(lines) > 2 * ENTRIES_MAX:
            self._rewrite(texts)
        return reversed(texts)

    def store_string(self, string: str) -> None:
        if not keeps(string):
            return
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC
        try:
            with os.fdopen(os.open(self._file, flags, 0o600), "ab") as file:
                file.write(json.dumps(string, ensure_ascii=True).encode() + b"\n")
        except OSError:
            return  # a disk that is full takes no history; the message itself is what counts

    def _rewrite(self, texts: Sequence[str]) -> None:
        content = "".join(f"{json.dumps(text)}\n" for text in texts)
        try:
            whole_file(self._file, content.encode())
        except StoreFailed:
            return

"""Files that come with a message: which to fetch, and what to say about the others."""

from collections.abc import Iterable

from msgspec import Struct

from hermes.text.quoting import bared, name

NAME_CHARS_MAX = 64


class IncomingFile(Struct, frozen=True, kw_only=True):
    """A file to fetch, and how to call it. `file_id` is what the platform knows it by."""

    file_id: str
    media_type: str
    name: str
    noun: str


def one_line(text: str) -> str:
    """Return the text on one line without invisible characters: people choose their own names."""
    return " ".join(bared(text)[0].split())[:NAME_CHARS_MAX]


def quoted_name(text: str) -> str:
    """Return a name or a title in quotes that it cannot end."""
    return name(one_line(text))


def sorted_by_size(
    files: Iterable[tuple[IncomingFile, int]], bytes_max: int
) -> tuple[tuple[IncomingFile, ...], tuple[str, ...]]:
    """Return the files to fetch, and a note about each that is too large."""
    fetched, notes = [], []
    for file, size in files:
        if size > bytes_max:
            notes.append(_too_large(file, size, bytes_max))
        else:
            fetched.append(file)
    return tuple(fetched), tuple(notes)


def not_fetched(file: IncomingFile, platform: str) -> str:
    return f"(A {file.noun} came with this, and {platform} did not hand it out.)"


def _too_large(file: IncomingFile, size: int, bytes_max: int) -> str:
    most = bytes_max // 1_000_000
    named = f"{file.noun}, {quoted_name(file.name)}," if file.noun == "file" else file.noun
    return f"(A {named} of {size / 1e6:.0f} MB came with this: too large, the limit is {most} MB.)"

"""Redact secrets in a finished file, such as the output of a command."""

import codecs
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from hermes.secrets.live import Sink
from hermes.secrets.redactor import HIDDEN

PIECE_BYTES = 256 * 1024


def clean_file(path: Path, sink: Sink) -> None:
    """Replace the file by a redacted copy, atomically. Raise OSError."""
    new = path.with_name(f"{path.name}.{os.getpid()}-{threading.get_ident()}.clean")
    handle = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    try:
        with os.fdopen(handle, "wb") as target, path.open("rb") as source:
            changed = False
            for text in _safe_pieces(iter(lambda: source.read(PIECE_BYTES), b""), sink):
                target.write(text.encode("utf-8", "surrogateescape"))
                changed = changed or HIDDEN in text
        if changed:
            new.rename(path)
    finally:
        new.unlink(missing_ok=True)


def _safe_pieces(pieces: Iterator[bytes], sink: Sink) -> Iterator[str]:
    decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
    stream = sink.stream()
    for piece in pieces:
        yield stream.feed(decoder.decode(piece))
    yield stream.feed(decoder.decode(b"", final=True))
    yield stream.close()

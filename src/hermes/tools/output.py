"""Output as a model gets it: clean text, head and tail within a limit, and where the rest is."""

import codecs
import re

from msgspec import Struct

HEAD_BYTES = 6_000
TAIL_BYTES = 10_000
SHOWN_BYTES = HEAD_BYTES + TAIL_BYTES
SCRIPT_BYTES = 180_000  # of a result that a script reads and no model; the journal keeps it
BINARY_SHARE = 0.3  # of characters that are no text
LINE_SEARCH = 2  # a cut moves to the end of a line if that costs at most half of the part

# A terminal's colours, cursor moves and titles. Each alternative takes a bounded or linear time.
ESCAPES = re.compile(
    r"\x1b\[[0-?]*[ -/]*[@-~]"  # CSI
    r"|\x1b[\]P^_X][^\x07\x1b]{0,500}(?:\x07|\x1b\\)?"  # OSC and the other strings
    r"|\x1b(?:\[[0-?]*[ -/]*)?$"  # cut off at the end
    r"|\x1b[ -/]*[0-~]"  # two characters
)
CONTROLS = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Clipped(Struct, frozen=True):
    """A text's beginning and end; `left_out` bytes stood between them."""

    head: str
    tail: str = ""
    left_out: int = 0


def clipped(text: str, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES) -> Clipped:
    """The whole text where it fits; else an exact prefix and an exact suffix of it."""
    raw = text.encode()
    if len(raw) <= head_bytes + tail_bytes:
        return Clipped(text)
    head = _to_line_end(raw[:head_bytes].decode("utf-8", "ignore"))
    tail = _from_line_start(_without_broken_start(raw[len(raw) - tail_bytes :]))
    return Clipped(head, tail, len(raw) - len(head.encode()) - len(tail.encode()))


def joined(part: Clipped, *, left_out: str) -> str:
    """Head, a line in brackets that says what is missing, tail."""
    if not part.left_out:
        return part.head
    head = part.head if not part.head or part.head.endswith("\n") else part.head + "\n"
    return f"{head}[… {left_out} …]\n{part.tail}"


def clean(raw: bytes) -> str:
    """Text without what only a screen understands; of an overwritten line, what stayed visible."""
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(raw, final=False)
    text = ESCAPES.sub("", text)
    if "\r" in text:
        text = "\n".join(line.rstrip("\r").rpartition("\r")[2] for line in text.split("\n"))
    return CONTROLS.sub("", text)


def clean_tail(raw: bytes) -> str:
    """The same for bytes that may begin within a character or a line."""
    return _from_line_start(clean(_without_broken_start(raw).encode()))


def is_binary(sample: bytes) -> bool:
    if b"\x00" in sample:
        return True
    text = codecs.getincrementaldecoder("utf-8")("replace").decode(sample, final=False)
    return text.count("\ufffd") > BINARY_SHARE * max(len(text), 1)


def line_cut(line: str, chars_max: int) -> str:
    """A line no longer than that, saying how much is missing."""
    if len(line) <= chars_max:
        return line
    return f"{line[:chars_max]}… [{len(line) - chars_max:,} more characters]"


def _to_line_end(text: str) -> str:
    end = text.rfind("\n") + 1
    return text[:end] if end * LINE_SEARCH >= len(text) else text


def _from_line_start(text: str) -> str:
    start = text.find("\n") + 1
    return text[start:] if 0 < start * LINE_SEARCH <= len(text) else text


def _without_broken_start(raw: bytes) -> str:
    start = 0
    while start < min(3, len(raw)) and raw[start] & 0xC0 == 0x80:
        start += 1
    return raw[start:].decode("utf-8", "replace")

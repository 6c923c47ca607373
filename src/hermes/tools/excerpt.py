"""The part of a command's output that a model is shown, read from the file that has all of it."""

from hermes.core.ids import CallId
from hermes.ports.terminal import Sighting, Terminal
from hermes.text.plurals import counted
from hermes.tools.output import (
    HEAD_BYTES,
    TAIL_BYTES,
    Clipped,
    clean,
    clean_tail,
    clipped,
    is_binary,
    joined,
)

CHUNK_BYTES = 1024 * 1024
SAMPLE_BYTES = 4_096


async def excerpt_of(
    terminal: Terminal, seen: Sighting, head_bytes: int = HEAD_BYTES, tail_bytes: int = TAIL_BYTES
) -> str:
    """Head and tail within the limit, ending with a new line unless empty."""
    call, size = seen.launch.id, seen.size
    if not size:
        return ""
    small = size <= head_bytes + tail_bytes
    first = await terminal.read(call, 0, size if small else min(size, SAMPLE_BYTES))
    if is_binary(first[:SAMPLE_BYTES]):
        return f"[binary output: {size:,} bytes in {seen.output}]\n"
    if small:
        whole = clipped(clean(first), head_bytes, tail_bytes)
        return _ended(joined(whole, left_out=f"{whole.left_out:,} bytes are only in {seen.output}"))
    head = clean(await terminal.read(call, 0, head_bytes))
    tail = clean_tail(await terminal.read(call, size - tail_bytes, tail_bytes))
    head, last = clipped(head, head_bytes, 0).head, clipped(tail, 0, tail_bytes)
    between = size - head_bytes - tail_bytes
    lines = await lines_between(terminal, call, head_bytes, size - tail_bytes)
    left = f"{between:,} bytes ({counted(lines, 'line')}) left out; all of it is in {seen.output}"
    return _ended(joined(Clipped(head, last.head + last.tail, between), left_out=left))


async def lines_between(terminal: Terminal, call: CallId, start: int, stop: int) -> int:
    """How many lines end between these two offsets."""
    lines = 0
    while start < stop:
        chunk = await terminal.read(call, start, min(CHUNK_BYTES, stop - start))
        if not chunk:
            break
        lines += chunk.count(b"\n")
        start += len(chunk)
    return lines


async def line_start(terminal: Terminal, call: CallId, line: int, stop: int) -> int:
    """The offset at which that line (counted from 1) begins; `stop` when there are fewer."""
    start, before = 0, line - 1
    while start < stop and before:
        chunk = await terminal.read(call, start, min(CHUNK_BYTES, stop - start))
        count = chunk.count(b"\n")
        if not chunk or count >= before:
            parts = chunk.split(b"\n", before)
            return start + len(chunk) - len(parts[-1])
        before -= count
        start += len(chunk)
    return start


def _ended(text: str) -> str:
    return text if not text or text.endswith("\n") else text + "\n"

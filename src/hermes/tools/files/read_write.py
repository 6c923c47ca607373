"""`read_file` and `write_file`: a window of numbered lines out, a whole file in."""

import asyncio
from collections.abc import Iterator, Mapping
from pathlib import PurePath
from typing import Annotated, BinaryIO

from msgspec import Meta, Struct

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId
from hermes.core.messages import Effect
from hermes.core.policy import Capability
from hermes.core.ports import Presented, Tool, ToolContext, ToolResult
from hermes.ports.terminal import Terminal
from hermes.ports.workspace import Workspace
from hermes.text.plurals import counted
from hermes.tools.arguments import Arguments
from hermes.tools.files.opening import JudgedFiles
from hermes.tools.files.paths import here, path_of
from hermes.tools.files.reachable import file_finding, labels_of, output_call, reach_of
from hermes.tools.output import CONTROLS, SCRIPT_BYTES, is_binary
from hermes.views.diff import diff_text, file_diff, on_card
from hermes.views.tool_specs import spec_of

LINES_DEFAULT, LINES_MAX = 500, 2_000
LINE_BYTES_MAX = 2_000
WINDOW_BYTES_MAX = 40_000
ROOM = (LINES_DEFAULT, WINDOW_BYTES_MAX)
SCRIPT_ROOM = (SCRIPT_BYTES, SCRIPT_BYTES)
SAMPLE_BYTES = 8_192
COUNTED_BYTES_MAX = 100 * 1024 * 1024  # beyond this nobody counts the lines that are left
CHUNK_BYTES = 1024 * 1024
CONTENT_BYTES_MAX = 20 * 1024 * 1024
COMPARED_BYTES_MAX = 5 * 1024 * 1024
HEAD_CHARS, TAIL_CHARS = 1_500, 500  # of a diff, on a card

IMAGES = {
    b"\x89PNG\r\n": "PNG image",
    b"\xff\xd8\xff": "JPEG image",
    b"GIF8": "GIF image",
    b"RIFF": "RIFF file (WebP, WAV or AVI)",
    b"%PDF": "PDF document",
    b"PK\x03\x04": "ZIP archive (or Office document)",
}

READ_DESCRIPTION = "Read a text file as numbered lines (N|text)."
WRITE_DESCRIPTION = "Write a whole file, replacing what was there; makes missing directories."


class ReadArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    offset: Annotated[int | None, Meta(description="first line, from 1")] = None
    limit: Annotated[int | None, Meta(description="lines, default 500")] = None


class WriteArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str
    content: str


def read_rule(arguments: ReadArguments) -> str:
    if not arguments.path.strip():
        return "path: it is empty."
    if arguments.offset is not None and arguments.offset < 1:
        return "offset: lines are counted from 1."
    if arguments.limit is not None and not 1 <= arguments.limit <= LINES_MAX:
        return f"limit: give between 1 and {LINES_MAX} lines."
    return ""


def write_rule(arguments: WriteArguments) -> str:
    if not arguments.path.strip():
        return "path: it is empty."
    if len(arguments.content) > CONTENT_BYTES_MAX:
        return f"content: longer than {CONTENT_BYTES_MAX:,} bytes."
    return ""


READ = Arguments(ReadArguments, read_rule)
WRITE = Arguments(WriteArguments, write_rule)


def read_file_tool(workspace: Workspace) -> Tool:
    places = workspace.places

    async def run(context: ToolContext) -> ToolResult:
        arguments = READ.parse(context.call.arguments)
        files = JudgedFiles(workspace.files, here(places, context.facts))
        path = path_of(files.places, context.facts, arguments.path)
        await _demand_own_output(files, workspace.terminal, context, path)
        room = SCRIPT_ROOM if context.options.scripted else ROOM
        text = await asyncio.to_thread(_read, files, path, arguments, room)
        return ToolResult(text=text, labels=labels_of(reach_of(files.places, str(path))))

    return Tool(
        question="Read this file?",
        spec=spec_of("read_file", READ_DESCRIPTION, ReadArguments),
        check=READ.check,
        effect=READ.effect(lambda _: Effect.READ),
        run=run,
        capabilities=frozenset({Capability.READ}),
        parallel=True,
        judge=lambda text, facts: file_finding(places, facts, READ.parse(text).path),
    )


def write_file_tool(workspace: Workspace) -> Tool:
    places = workspace.places

    def files_of(facts: Mapping[str, str]) -> JudgedFiles:
        return JudgedFiles(workspace.files, here(places, facts))

    async def run(context: ToolContext) -> ToolResult:
        arguments = WRITE.parse(context.call.arguments)
        return await asyncio.to_thread(_write, files_of(context.facts), context, arguments)

    return Tool(
        question="Write this file?",
        spec=spec_of("write_file", WRITE_DESCRIPTION, WriteArguments),
        check=WRITE.check,
        effect=WRITE.effect(lambda _: Effect.IDEMPOTENT),
        run=run,
        capabilities=frozenset({Capability.WRITE}),
        judge=lambda text, facts: file_finding(places, facts, WRITE.parse(text).path, writes=True),
        present=lambda text, facts: _presented(files_of(facts), WRITE.parse(text), facts),
    )


async def _demand_own_output(
    files: JudgedFiles, terminal: Terminal, context: ToolContext, path: PurePath
) -> None:
    """All that a command wrote is kept among our own files, and may be read by its session."""
    call = output_call(files.places, str(path))
    seen = await terminal.look(CallId(call)) if call is not None else None
    if call is not None and (seen is None or seen.launch.session != context.session):
        raise ToolFailed(f"{path} is not the output of a command of this session.")


def _presented(
    files: JudgedFiles, arguments: WriteArguments, facts: Mapping[str, str]
) -> Presented:
    path = path_of(files.places, facts, arguments.path)
    content = arguments.content.encode("utf-8", "replace")
    change = file_diff(str(path), _before(files, path), content)
    return Presented(text=on_card((change,), HEAD_CHARS, TAIL_CHARS))


def _before(files: JudgedFiles, path: PurePath) -> bytes | None:
    """What it replaces; b"\0" when that cannot be shown."""
    try:
        if not files.is_there(path):
            return None
        return files.content(path, COMPARED_BYTES_MAX)
    except ToolFailed:
        return b"\0"


def _write(files: JudgedFiles, context: ToolContext, arguments: WriteArguments) -> ToolResult:
    path = path_of(files.places, context.facts, arguments.path)
    content = arguments.content.encode("utf-8", "replace")
    change = file_diff(str(path), _before(files, path), content)
    new = files.replace(path, content, tag=context.call.id)
    lines = len(arguments.content.removesuffix("\n").split("\n")) if content else 0
    made = "Created" if new else "Replaced"
    text = f"{made} {path}: {counted(lines, 'line')}, {counted(len(content), 'byte')}."
    return ToolResult(text=text, diff=diff_text((change,)))


def _read(
    files: JudgedFiles, path: PurePath, arguments: ReadArguments, room: tuple[int, int]
) -> str:
    """`room`: the lines that are read unless the call says how many, and the bytes."""
    first, limit = arguments.offset or 1, arguments.limit or room[0]
    with files.opened(path) as file:
        _demand_text(path, file.read(SAMPLE_BYTES))
        file.seek(0)
        rows, last = _window(file, first, limit, room[1])
        left = _lines_left(file)
    total = None if left is None else last + left
    if not rows:
        if total == 0:
            return "[the file is empty]"
        raise ToolFailed(f"offset: {path} has {counted(total or 0, 'line')}.")
    if first == 1 and left == 0:
        return "\n".join(rows)
    of = "" if total is None else f" of {total:,}"
    more = "" if left == 0 else f"; continue with offset={last + 1}"
    return "\n".join([*rows, f"[lines {first}-{last}{of}{more}]"])


def _demand_text(path: PurePath, sample: bytes) -> None:
    for magic, kind in IMAGES.items():
        if sample.startswith(magic):
            raise ToolFailed(f"{path} is a {kind}; read_file reads text only.")
    if sample.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise ToolFailed(f"{path} is UTF-16 text; convert it with iconv first.")
    if is_binary(sample):
        raise ToolFailed(f"{path} is a binary file; look at it with `file` or `xxd` instead.")


def _window(file: BinaryIO, first: int, limit: int, bytes_max: int) -> tuple[list[str], int]:
    """Numbered lines from `first` on, as many as were asked for and fit; and the last line read."""
    rows: list[str] = []
    number = used = 0
    for number, (start, length) in enumerate(_lines(file), 1):
        if number < first:
            continue
        row = f"{number}|{_shown(start, length)}"
        rows.append(row)
        used += len(row.encode()) + 1
        if len(rows) >= limit or used > bytes_max:
            break
    return rows, number


def _lines(file: BinaryIO) -> Iterator[tuple[bytes, int]]:
    """The beginning and the length of each line; a line of any length needs little memory."""
    while start := file.readline(LINE_BYTES_MAX):
        length, part = len(start), start
        while len(part) == LINE_BYTES_MAX and not part.endswith(b"\n"):
            part = file.readline(LINE_BYTES_MAX)
            length += len(part)
        yield start, length


def _shown(start: bytes, length: int) -> str:
    text = start.decode("utf-8", "replace").removeprefix("\ufeff").rstrip("\r\n")
    text = CONTROLS.sub("\ufffd", text)
    return text if length == len(start) else f"{text}… [{length - len(start):,} more bytes]"


def _lines_left(file: BinaryIO) -> int | None:
    """How many lines are left to read; None when there is too much to count."""
    lines, counted, last = 0, 0, b"\n"
    while chunk := file.read(CHUNK_BYTES):
        lines += chunk.count(b"\n")
        counted += len(chunk)
        last = chunk[-1:]
        if counted > COUNTED_BYTES_MAX:
            return None
    return lines + (last != b"\n")

"""`patch`: change parts of files, all or nothing.

Its class is `effect`: a second run of “put X behind Y” puts it there twice. But each file is
replaced at once, so after a crash it is either as before or as after, and `seek` can mostly tell:
an edit that fits and cannot be taken back has not happened, one that can only be taken back has.
"""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO, Literal

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.core.messages import Effect
from hermes.core.policy import Capability
from hermes.core.ports import Bench, Tool, ToolResult, ToolSpec
from hermes.tools.arguments import Arguments
from hermes.tools.matching import Edit, patched
from hermes.tools.opening import content_of, is_there, opened, remove_file, replace_file
from hermes.tools.output import is_binary
from hermes.tools.patch_text import FileChange, parse_patch
from hermes.tools.paths import Places, here, lexical
from hermes.tools.reachable import files_finding

FILE_BYTES_MAX = 5 * 1024 * 1024
SAMPLE_BYTES = 8_192
EDITS_MAX = 100

SPEC = ToolSpec(
    name="patch",
    description=(
        "Change files. One file: path with old_string (must fit one place) and new_string, or "
        "several edits. Several files: patch, as `*** Begin Patch`, `*** Update File: p` (or Add, "
        "Delete), `@@`, lines with ' ', - or +, `*** End Patch`, or a unified diff. All or nothing."
    ),
    parameters=(
        '{"type":"object","properties":{'
        '"path":{"type":"string"},'
        '"old_string":{"type":"string"},'
        '"new_string":{"type":"string"},'
        '"replace_all":{"type":"boolean"},'
        '"edits":{"type":"array","items":{"type":"object","properties":{'
        '"old_string":{"type":"string"},"new_string":{"type":"string"},'
        '"replace_all":{"type":"boolean"}},"required":["old_string","new_string"]}},'
        '"patch":{"type":"string"}}}'
    ),
)


class EditArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    old_string: str
    new_string: str
    replace_all: bool | None = None


class PatchArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str | None = None
    old_string: str | None = None
    new_string: str | None = None
    replace_all: bool | None = None
    edits: tuple[EditArguments, ...] | None = None
    patch: str | None = None
    mode: str | None = None  # some models name the form that they use; the fields say it anyway


def changes_in(arguments: PatchArguments) -> tuple[FileChange, ...]:
    """What is asked for, whichever form it has. Raises ToolFailed."""
    if arguments.patch:
        if arguments.old_string is not None or arguments.edits:
            raise ToolFailed("patch: give either patch, or path with old_string or edits.")
        return parse_patch(arguments.patch)
    if not arguments.path:
        raise ToolFailed("path: say which file, or give patch.")
    asked = arguments.edits or ()
    if arguments.old_string is not None:
        if arguments.new_string is None:
            raise ToolFailed("new_string: say what stands there instead; may be empty.")
        single = EditArguments(
            old_string=arguments.old_string,
            new_string=arguments.new_string,
            replace_all=arguments.replace_all,
        )
        asked = (single, *asked)
    if not 1 <= len(asked) <= EDITS_MAX:
        raise ToolFailed(f"old_string: give old_string and new_string, or 1 to {EDITS_MAX} edits.")
    edits = tuple(
        Edit(old=edit.old_string, new=edit.new_string, every=bool(edit.replace_all))
        for edit in asked
    )
    return (FileChange(path=arguments.path, kind="update", edits=edits),)


def patch_rule(arguments: PatchArguments) -> str:
    try:
        changes_in(arguments)
    except ToolFailed as wrong:
        return str(wrong)
    return ""


ARGUMENTS = Arguments(PatchArguments, patch_rule)


class Plan(Struct, frozen=True, kw_only=True):
    """One file as it shall be; without content it shall not be."""

    path: Path
    verb: Literal["patched", "created", "deleted"]
    content: bytes | None
    note: str = ""


def patch_tool(places: Places) -> Tool:
    async def run(bench: Bench) -> ToolResult:
        changes = changes_in(ARGUMENTS.parse(bench.call.arguments))
        return await asyncio.to_thread(_run, here(places, bench.facts), bench, changes)

    async def seek(bench: Bench) -> ToolResult | None:
        changes = changes_in(ARGUMENTS.parse(bench.call.arguments))
        return await asyncio.to_thread(_seek, here(places, bench.facts), bench, changes)

    return Tool(
        spec=SPEC,
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(lambda _: Effect.EFFECT),
        run=run,
        capabilities=frozenset({Capability.WRITE}),
        judge=lambda text, facts: files_finding(
            places, facts, [change.path for change in changes_in(ARGUMENTS.parse(text))]
        ),
        seek=seek,
    )


def _run(places: Places, bench: Bench, changes: Sequence[FileChange]) -> ToolResult:
    plans = [_planned(places, Path(lexical(places, bench.facts, c.path)), c) for c in changes]
    return _written(places, plans, bench)


def _seek(places: Places, bench: Bench, changes: Sequence[FileChange]) -> ToolResult | None:
    """Finish what is certainly not done; None when for one file nobody can say."""
    plans: list[Plan] = []
    for change in changes:
        path = Path(lexical(places, bench.facts, change.path))
        forth, back = (_attempt(places, path, each) for each in (change, _reversed(change)))
        if (forth is None) == (back is None):
            return None
        if forth is not None:
            plans.append(forth)
    if not plans:
        return ToolResult(text="Done before the interruption: every edit is in its file.")
    return _written(places, plans, bench)


def _written(places: Places, plans: Sequence[Plan], bench: Bench) -> ToolResult:
    said: list[str] = []
    for plan in plans:
        try:
            if plan.content is None:
                remove_file(places, plan.path)
            else:
                replace_file(places, plan.path, plan.content, tag=bench.call.id)
        except ToolFailed as failed:
            done = f" Done before: {' '.join(said)}" if said else " Nothing was changed."
            raise ToolFailed(f"{failed}{done}") from failed
        said.append(f"{plan.verb.capitalize()} {plan.path}{plan.note}.")
    return ToolResult(text="\n".join(said))


def _attempt(places: Places, path: Path, change: FileChange) -> Plan | None:
    try:
        return _planned(places, path, change)
    except ToolFailed:
        return None


def _planned(places: Places, path: Path, change: FileChange) -> Plan:
    match change.kind:
        case "add":
            if is_there(places, path):
                raise ToolFailed(f"{path} exists already; nothing was changed.")
            content = (change.content or "").encode("utf-8", "replace")
            return Plan(path=path, verb="created", content=content)
        case "delete":
            with opened(places, path) as file:
                if change.content is not None and _differs(file, change.content):
                    raise ToolFailed(f"{path} has other content; nothing was changed.")
            return Plan(path=path, verb="deleted", content=None)
        case "update":
            content = content_of(places, path, FILE_BYTES_MAX)
            text, note = _patched_bytes(path, content, change.edits)
            return Plan(path=path, verb="patched", content=text, note=note)


def _differs(file: BinaryIO, content: str) -> bool:
    return file.read(FILE_BYTES_MAX + 1) != content.encode("utf-8", "replace")


def _patched_bytes(path: Path, raw: bytes, edits: Sequence[Edit]) -> tuple[bytes, str]:
    """Line ends stay what they are: a file that has only CRLF is matched and written as such."""
    if is_binary(raw[:SAMPLE_BYTES]):
        raise ToolFailed(f"{path} is a binary file.")
    try:
        text = raw.decode()
    except UnicodeDecodeError as odd:
        raise ToolFailed(f"{path} is not UTF-8 text; change it with a command.") from odd
    crlf = text.count("\r\n")
    dos = crlf > 0 and crlf == text.count("\n")
    if dos:
        text = text.replace("\r\n", "\n")
        edits = [_with_unix_ends(edit) for edit in edits]
    try:
        result = patched(text, edits)
    except ToolFailed as failed:
        raise ToolFailed(f"{path}: {failed}\nNothing was changed.") from failed
    after = result.text.replace("\n", "\r\n") if dos else result.text
    return after.encode("utf-8", "replace"), f" ({'; '.join(result.notes)})"


def _with_unix_ends(edit: Edit) -> Edit:
    return Edit(
        old=edit.old.replace("\r\n", "\n"),
        new=edit.new.replace("\r\n", "\n"),
        every=edit.every,
        anchor=edit.anchor,
        line=edit.line,
    )


def _reversed(change: FileChange) -> FileChange:
    """The change that would take this one back."""
    match change.kind:
        case "add":
            return FileChange(path=change.path, kind="delete", content=change.content)
        case "delete":
            return FileChange(path=change.path, kind="add")
        case "update":
            back = [Edit(old=e.new, new=e.old, every=e.every) for e in reversed(change.edits)]
            return FileChange(path=change.path, kind="update", edits=tuple(back))

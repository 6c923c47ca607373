"""`patch`: change parts of files, all or nothing.

Its class is `effect`: a second run of “put X behind Y” puts it there twice. But each file is
replaced at once, so after a crash it is as before or as after, and `recover` can mostly tell:
an edit that fits and cannot be taken back has not happened, one that can only be taken back has.
"""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import Annotated, Literal

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.core.messages import Effect
from hermes.core.policy import Capability
from hermes.core.ports import Presented, Tool, ToolContext, ToolResult
from hermes.ports.workspace import Workspace
from hermes.tools.arguments import Arguments
from hermes.tools.files.matching import TextEdit, patched
from hermes.tools.files.opening import JudgedFiles
from hermes.tools.files.patch_text import FileChange, parse_patch
from hermes.tools.files.paths import here, path_of
from hermes.tools.files.reachable import files_finding
from hermes.tools.output import is_binary
from hermes.views.diff import FileDiff, diff_text, file_diff, on_card
from hermes.views.tool_specs import UNSEEN, spec_of

FILE_BYTES_MAX = 5 * 1024 * 1024
SAMPLE_BYTES = 8_192
EDITS_MAX = 100
HEAD_CHARS, TAIL_CHARS = 1_500, 500  # of a diff, on a card

DESCRIPTION = (
    "Change files. One file: path with old_string (must fit one place) and new_string, or "
    "several edits. Several files: patch, as `*** Begin Patch`, `*** Update File: p` (or Add, "
    "Delete), `@@`, lines with ' ', - or +, `*** End Patch`, or a unified diff. All or nothing."
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
    # Some models name the form that they use; the fields say it anyway.
    mode: Annotated[str | None, UNSEEN] = None


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
            raise ToolFailed("new_string: give the replacement; it may be empty.")
        single = EditArguments(
            old_string=arguments.old_string,
            new_string=arguments.new_string,
            replace_all=arguments.replace_all,
        )
        asked = (single, *asked)
    if not 1 <= len(asked) <= EDITS_MAX:
        raise ToolFailed(f"old_string: give old_string and new_string, or 1 to {EDITS_MAX} edits.")
    edits = tuple(
        TextEdit(old=edit.old_string, new=edit.new_string, every=bool(edit.replace_all))
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


class PatchPlan(Struct, frozen=True, kw_only=True):
    """One file as it shall be; without content it shall not be."""

    path: PurePath
    verb: Literal["patched", "created", "deleted"]
    content: bytes | None
    before: bytes | None = None
    note: str = ""


def patch_tool(workspace: Workspace) -> Tool:
    places = workspace.places

    def files_of(facts: Mapping[str, str]) -> JudgedFiles:
        return JudgedFiles(workspace.files, here(places, facts))

    async def run(context: ToolContext) -> ToolResult:
        changes = changes_in(ARGUMENTS.parse(context.call.arguments))
        return await asyncio.to_thread(_run, files_of(context.facts), context, changes)

    async def recover(context: ToolContext) -> ToolResult | None:
        changes = changes_in(ARGUMENTS.parse(context.call.arguments))
        return await asyncio.to_thread(_recovered, files_of(context.facts), context, changes)

    return Tool(
        question="Change this file?",
        spec=spec_of("patch", DESCRIPTION, PatchArguments),
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(lambda _: Effect.EFFECT),
        run=run,
        capabilities=frozenset({Capability.WRITE}),
        judge=lambda text, facts: files_finding(
            places, facts, [change.path for change in changes_in(ARGUMENTS.parse(text))]
        ),
        present=lambda text, facts: _presented(
            files_of(facts), changes_in(ARGUMENTS.parse(text)), facts
        ),
        recover=recover,
    )


def _presented(
    files: JudgedFiles, changes: Sequence[FileChange], facts: Mapping[str, str]
) -> Presented:
    plans = [_planned(files, path_of(files.places, facts, c.path), c) for c in changes]
    share = (HEAD_CHARS // len(plans), TAIL_CHARS // len(plans))
    return Presented(text=on_card([_diff(plan) for plan in plans], *share))


def _diff(plan: PatchPlan) -> FileDiff:
    return file_diff(str(plan.path), plan.before, plan.content)


def _run(files: JudgedFiles, context: ToolContext, changes: Sequence[FileChange]) -> ToolResult:
    paths = [path_of(files.places, context.facts, change.path) for change in changes]
    plans = [_planned(files, path, c) for path, c in zip(paths, changes, strict=True)]
    return _written(files, plans, context)


def _recovered(
    files: JudgedFiles, context: ToolContext, changes: Sequence[FileChange]
) -> ToolResult | None:
    """Finish what is certainly not done; None when for one file nobody can say."""
    plans: list[PatchPlan] = []
    for change in changes:
        path = path_of(files.places, context.facts, change.path)
        forth, back = (_attempt(files, path, each) for each in (change, _reversed(change)))
        if (forth is None) == (back is None):
            return None
        if forth is not None:
            plans.append(forth)
    if not plans:
        return ToolResult(text="Done before the interruption: every edit is in its file.")
    return _written(files, plans, context)


def _written(files: JudgedFiles, plans: Sequence[PatchPlan], context: ToolContext) -> ToolResult:
    said: list[str] = []
    for plan in plans:
        try:
            if plan.content is None:
                files.remove(plan.path)
            else:
                files.replace(plan.path, plan.content, tag=context.call.id)
        except ToolFailed as failed:
            done = f" Done before: {' '.join(said)}" if said else " Nothing was changed."
            raise ToolFailed(f"{failed}{done}") from failed
        said.append(f"{plan.verb.capitalize()} {plan.path}{plan.note}.")
    return ToolResult(text="\n".join(said), diff=diff_text([_diff(plan) for plan in plans]))


def _attempt(files: JudgedFiles, path: PurePath, change: FileChange) -> PatchPlan | None:
    try:
        return _planned(files, path, change)
    except ToolFailed:
        return None


def _planned(files: JudgedFiles, path: PurePath, change: FileChange) -> PatchPlan:
    match change.kind:
        case "add":
            if files.is_there(path):
                raise ToolFailed(f"{path} exists already; nothing was changed.")
            content = (change.content or "").encode("utf-8", "replace")
            return PatchPlan(path=path, verb="created", content=content)
        case "delete":
            with files.opened(path) as file:
                before = file.read(FILE_BYTES_MAX + 1)
            if change.content is not None and before != change.content.encode("utf-8", "replace"):
                raise ToolFailed(f"{path} has other content; nothing was changed.")
            return PatchPlan(path=path, verb="deleted", content=None, before=before)
        case "update":
            content = files.content(path, FILE_BYTES_MAX)
            text, note = _patched_bytes(path, content, change.edits)
            return PatchPlan(path=path, verb="patched", content=text, before=content, note=note)


def _patched_bytes(path: PurePath, raw: bytes, edits: Sequence[TextEdit]) -> tuple[bytes, str]:
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


def _with_unix_ends(edit: TextEdit) -> TextEdit:
    return TextEdit(
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
            back = [TextEdit(old=e.new, new=e.old, every=e.every) for e in reversed(change.edits)]
            return FileChange(path=change.path, kind="update", edits=tuple(back))

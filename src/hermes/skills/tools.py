"""`skills_list`, `skill_view`, `skill_manage`: how the agent uses skills and proposes changes."""

import asyncio
from collections.abc import Callable
from typing import Literal, TypeVar

import msgspec
from msgspec import Struct

from hermes.core.errors import Rejected, StoreFailed, ToolFailed
from hermes.core.messages import Effect
from hermes.core.policy import UNTRUSTED, Capability
from hermes.core.ports import Tool, ToolContext, ToolResult
from hermes.ports.skills import SkillProposal, SkillRow, SkillSource
from hermes.skills.drafting import SkillChange, SkillDraft, drafted
from hermes.skills.form import BYTE_ORDER_MARK, FILE
from hermes.skills.library import SkillLibrary
from hermes.skills.proposals import ProposalFolder
from hermes.views.tool_specs import spec_of

ROWS_MAX = 200
FILES_MAX = 20
T = TypeVar("T")
A = TypeVar("A", bound=Struct)

LIST_DESCRIPTION = "List all skills, or those with these words in them."
VIEW_DESCRIPTION = "Read a skill's instructions, or one of its files."
MANAGE_DESCRIPTION = (
    "Propose a new skill (create: name, description, instructions) or a better one (improve: "
    "what to replace; patch: old and new text in a file). The owner decides; say that you "
    "proposed it."
)


class ListArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    words: str = ""


class ViewArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    name: str
    file: str = ""


class ManageArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action: Literal["create", "improve", "patch"]
    name: str
    why: str
    description: str = ""
    instructions: str = ""
    files: dict[str, str] = {}
    file: str = FILE
    old: str = ""
    new: str = ""


def skill_tools(
    library: SkillLibrary, *, agent_writes: Literal["propose", "apply"]
) -> tuple[Tool, ...]:
    """Their order is part of the prompt's prefix."""

    async def listed(context: ToolContext) -> ToolResult:
        arguments = _parsed(ListArguments, context.call.arguments)
        return await _done(lambda: _listed(library, arguments))

    async def viewed(context: ToolContext) -> ToolResult:
        arguments = _parsed(ViewArguments, context.call.arguments)
        return await _done(lambda: _viewed(library, arguments, str(context.call.id)))

    async def managed(context: ToolContext) -> ToolResult:
        arguments = _parsed(ManageArguments, context.call.arguments)
        applies = agent_writes == "apply"
        return await _done(lambda: _managed(library.proposals, arguments, context, applies=applies))

    read, idempotent = lambda _text: Effect.READ, lambda _text: Effect.IDEMPOTENT
    return (
        Tool(
            spec=spec_of("skills_list", LIST_DESCRIPTION, ListArguments),
            check=_check(ListArguments),
            effect=read,
            run=listed,
            capabilities=frozenset({Capability.READ}),
            parallel=True,
            reviews=True,
        ),
        Tool(
            spec=spec_of("skill_view", VIEW_DESCRIPTION, ViewArguments),
            check=_check(ViewArguments),
            effect=read,
            run=viewed,
            capabilities=frozenset({Capability.READ}),
            parallel=True,
            reviews=True,
        ),
        Tool(
            spec=spec_of("skill_manage", MANAGE_DESCRIPTION, ManageArguments),
            check=_check_managed,
            effect=idempotent,
            run=managed,
            capabilities=frozenset({Capability.WRITE_SELF}),
            reviews=True,
        ),
    )


def _parsed(shape: type[A], text: str) -> A:
    """Raises ToolFailed with a sentence that the model can act on."""
    try:
        return msgspec.json.decode(text.strip() or "{}", type=shape, strict=False)
    except msgspec.MsgspecError as wrong:
        known = ", ".join(field.name for field in msgspec.structs.fields(shape))
        said = str(wrong).replace("`$.", "`")
        raise ToolFailed(f"Wrong arguments: {said}. The known ones are: {known}.") from wrong


def _check(shape: type[A]) -> Callable[[str], str]:
    def check(text: str) -> str:
        try:
            _parsed(shape, text)
        except ToolFailed as wrong:
            return str(wrong)
        return ""

    return check


def _check_managed(text: str) -> str:
    wrong = _check(ManageArguments)(text)
    if wrong:
        return wrong
    arguments = _parsed(ManageArguments, text)
    if not arguments.why.strip():
        return "why: say in a sentence why the owner should want this."
    if len(arguments.files) > FILES_MAX:
        return f"files: at most {FILES_MAX} at a time."
    match arguments.action:
        case "create" if not (arguments.description.strip() and arguments.instructions.strip()):
            return "create: give description and instructions."
        case "improve" if not (arguments.description or arguments.instructions or arguments.files):
            return "improve: give what to replace: description, instructions or files."
        case "patch" if not arguments.old or arguments.old == arguments.new:
            return (
                "patch: give old, copied exactly from the file, and new, which must differ from it."
            )
        case _:
            return ""


async def _done(work: Callable[[], ToolResult]) -> ToolResult:
    """Files are touched beside the loop."""
    try:
        return await asyncio.to_thread(work)
    except (Rejected, StoreFailed) as refused:
        raise ToolFailed(f"{str(refused).removesuffix('.')}.") from refused


def _listed(library: SkillLibrary, arguments: ListArguments) -> ToolResult:
    words = arguments.words.lower().split()
    rows = [row for row in library.rows() if row.state == "on" and _fits(row, words)]
    if not rows:
        return ToolResult(text="There is no such skill." if words else "There are no skills.")
    lines = [f"- {row.name} ({row.source}): {row.description}" for row in rows[:ROWS_MAX]]
    if len(rows) > ROWS_MAX:
        lines.append(f"… and {len(rows) - ROWS_MAX} more; give words.")
    return ToolResult(text="\n".join(lines), labels=_labels(*(row.source for row in rows)))


def _labels(*sources: SkillSource) -> tuple[str, ...]:
    """To install a skill is to use a stranger's words, not to make them one's own."""
    return (UNTRUSTED,) if "installed" in sources else ()


def _fits(row: SkillRow, words: list[str]) -> bool:
    return all(word in f"{row.name} {row.description}".lower() for word in words)


def _viewed(library: SkillLibrary, arguments: ViewArguments, call: str) -> ToolResult:
    text, source = library.read(arguments.name, arguments.file)
    if not arguments.file:
        library.used(arguments.name, call)
    return ToolResult(text=text.removeprefix(BYTE_ORDER_MARK), labels=_labels(source))


def _managed(
    proposals: ProposalFolder, arguments: ManageArguments, context: ToolContext, *, applies: bool
) -> ToolResult:
    made = proposals.made(str(context.call.id))
    if made is not None and made.state != "waiting":
        return _told(made)
    change = SkillChange(
        action=arguments.action,
        name=arguments.name,
        description=arguments.description,
        instructions=arguments.instructions,
        files=arguments.files,
        file=arguments.file,
        old=arguments.old,
        new=arguments.new,
    )
    draft = drafted(proposals, change) if made is None else None
    if draft is not None:
        made = proposals.make(
            draft.tree,
            call=str(context.call.id),
            action=draft.action,
            why=arguments.why,
            session=str(context.session),
            untrusted=UNTRUSTED in context.labels,
        )
    assert made is not None, "it was made before, or just now"
    if applies and _may_apply(proposals, made, draft):
        made = proposals.approve(made.id)
    return _told(made)


def _may_apply(proposals: ProposalFolder, made: SkillProposal, draft: SkillDraft | None) -> bool:
    """By itself only what is the agent's own, from a conversation without a stranger's words."""
    if made.untrusted or made.action == "copy":
        return False
    if any(finding.grave for finding in proposals.advice(made)):
        return False
    return draft is None or draft.is_free


def _told(made: SkillProposal) -> ToolResult:
    return ToolResult(text=_said(made))


def _said(made: SkillProposal) -> str:
    match made.state:
        case "applied":
            return f"The skill {made.name} is active. The owner can undo it: /skills undo."
        case "rejected":
            return f"The owner said no to this change of {made.name}, or a later one replaced it."
        case _:
            more = (
                " It needs the owner's approval, because this conversation has read untrusted text."
                * made.untrusted
            )
            return (
                f"Proposed {made.name} as {made.id}.{more} It is not active yet. Tell the person:"
                f" /skills diff {made.id} shows it, /skills approve {made.id} makes it active."
            )

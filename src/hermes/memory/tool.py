"""The `memory` tool, with which the agent keeps facts between conversations."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

import msgspec
from msgspec import Struct

from hermes.core.errors import Rejected, StoreFailed, ToolFailed
from hermes.core.ids import TurnId
from hermes.core.messages import Effect
from hermes.core.policy import PRIVATE, Capability, Finding
from hermes.core.ports import Presented, Tool, ToolContext, ToolResult
from hermes.memory.matching import listed
from hermes.memory.rules import CLAIMS_MAX, EVIDENCE_MAX, FULL, OLD_MAX, least_used
from hermes.memory.session_keys import is_review, source_turn
from hermes.memory.text import plain
from hermes.ports.memory import (
    By,
    Memories,
    MemoryChange,
    MemoryClaim,
    MemoryEntry,
    MemoryProposal,
    MemoryVersion,
    Same,
    Target,
    Trust,
)
from hermes.text.plurals import counted
from hermes.text.visible_text import both_ends
from hermes.views.tool_specs import spec_of

LEAST_USED_SHOWN = 5
QUOTED_CHARS = 400  # of an entry, in a result
HEAD_CHARS, TAIL_CHARS = 4_000, 2_000  # of a change, on a card

DESCRIPTION = (
    "Keep short lasting facts across conversations: target memory (world, work) or user (the "
    "person). old_text names an entry by id or words; several in a replace become one. "
    "describe_person: claims about the person, each with the turns that show it."
)


class PersonClaim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A thesis about the person, its counter-evidence, or a synthesis of both."""

    kind: Literal["thesis", "tension", "synthesis"]
    claim: str
    evidence: tuple[str, ...] = ()
    confidence: Literal["low", "medium", "high"] = "medium"


class MemoryArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    action: Literal["add", "replace", "remove", "list", "describe_person"]
    target: Literal["memory", "user"] = "memory"
    content: str = ""
    old_text: str | tuple[str, ...] = ()
    claims: tuple[PersonClaim, ...] = ()


_decoder = msgspec.json.Decoder(MemoryArguments, strict=False)
KNOWN = "The arguments are: action (required), target, content, old_text, claims."


def memory_tool(memories: Memories) -> Tool:
    async def run(context: ToolContext) -> ToolResult:
        arguments = _parsed(context.call.arguments)
        try:
            if arguments.action == "list":
                return await _list(memories)
            if arguments.action == "describe_person":
                await _check_evidence(context, arguments.claims)
            made = await asyncio.to_thread(memories.change, _change(arguments), _by(context))
            return await _told(memories, made)
        except (Rejected, StoreFailed) as refused:
            raise ToolFailed(f"Nothing was changed: {refused}.") from refused

    return Tool(
        spec=spec_of("memory", DESCRIPTION, MemoryArguments),
        check=_check,
        effect=_effect,
        run=run,
        question="Change what I remember?",
        present=_presented,
        capabilities=frozenset({Capability.WRITE_SELF}),
        ways=(frozenset({Capability.WRITE_SELF}), frozenset({Capability.READ_PRIVATE})),
        judge=_judged,
        reviews=True,
    )


def _judged(arguments: str, _facts: Mapping[str, str]) -> Finding:
    lists = _parsed(arguments).action == "list"
    return Finding(capabilities=frozenset({Capability.READ_PRIVATE}) if lists else None)


def _presented(arguments: str, _facts: Mapping[str, str]) -> Presented:
    """Describe the change in words, for the approval card."""
    given = _parsed(arguments)
    heads = {"memory": "memory", "user": "what I know about you"}
    where, old = heads[given.target], ", ".join(_olds(given))
    match given.action:
        case "add":
            lines = [f"Add to {where}:", given.content]
        case "replace":
            lines = [f"In {where}, replace {old} by:", given.content]
        case "remove":
            lines = [f"Remove from {where}: {old}"]
        case "describe_person":
            lines = ["Describe you as:", *map(_worded, given.claims)]
        case _:
            lines = [f"List {where}"]
    return Presented(text=both_ends("\n".join(lines), HEAD_CHARS, TAIL_CHARS))


def _parsed(text: str) -> MemoryArguments:
    try:
        arguments = _decoder.decode(text.strip() or "{}")
    except msgspec.MsgspecError as wrong:
        said = str(wrong).replace("`$.", "`")
        raise ToolFailed(f"Wrong arguments: {said}. {KNOWN}") from wrong
    if problem := _problem(arguments):
        raise ToolFailed(problem)
    return arguments


def _problem(arguments: MemoryArguments) -> str:
    match arguments.action:
        case "add" | "replace" if not arguments.content.strip():
            return "content: say what to keep."
        case "replace" | "remove" if not _olds(arguments):
            return "old_text: name the entry by its id, or by words that are only in it."
        case "describe_person" if not arguments.claims:
            return "claims: give at least one."
    if len(_olds(arguments)) > OLD_MAX or len(arguments.claims) > CLAIMS_MAX:
        return f"At most {OLD_MAX} entries and {CLAIMS_MAX} claims at once."
    for claim in arguments.claims:
        if len(claim.evidence) > EVIDENCE_MAX:
            return f"claims: at most {EVIDENCE_MAX} turns as evidence of one claim."
        if claim.kind != "synthesis" and not claim.evidence:
            return f"claims: “{claim.claim[:40]}” needs evidence, the ids of turns that show it."
    return ""


def _check(text: str) -> str:
    try:
        _parsed(text)
    except ToolFailed as wrong:
        return str(wrong)
    return ""


def _effect(text: str) -> Effect:
    """Return the effect of a call. A change is idempotent, because the call's id names it."""
    try:
        return Effect.READ if _parsed(text).action == "list" else Effect.IDEMPOTENT
    except ToolFailed:
        return Effect.EFFECT


def _olds(arguments: MemoryArguments) -> tuple[str, ...]:
    olds = arguments.old_text
    return tuple(old for old in ((olds,) if isinstance(olds, str) else olds) if old.strip())


def _change(arguments: MemoryArguments) -> MemoryChange:
    target: Target = arguments.target
    match arguments.action:
        case "add":
            return MemoryChange(action="add", target=target, new=(MemoryClaim(arguments.content),))
        case "replace":
            new, old = (MemoryClaim(arguments.content),), _olds(arguments)
            return MemoryChange(action="replace", target=target, new=new, old=old)
        case "remove":
            return MemoryChange(action="remove", target=target, old=_olds(arguments))
        case "describe_person":
            return MemoryChange(action="describe", target="person", new=_claims(arguments.claims))
        case _:
            raise ToolFailed("That changes nothing.")


def _claims(claims: Sequence[PersonClaim]) -> tuple[MemoryClaim, ...]:
    return tuple(MemoryClaim(_worded(claim), claim.evidence) for claim in claims)


def _worded(claim: PersonClaim) -> str:
    """Return the claim as one line. The file shows all of it, so that the person can edit it."""
    seen = f" (seen in {', '.join(map(plain, claim.evidence))})" if claim.evidence else ""
    return f"{claim.kind}, {claim.confidence}: {claim.claim}{seen}"


def _by(context: ToolContext) -> By:
    reviews = is_review(context.session)
    return By(
        author="background" if reviews else "agent",
        turn=source_turn(context.session) if reviews else context.turn,
        call=context.call.id,
        trust=_trust(context),
    )


def _trust(context: ToolContext) -> Trust:
    """Return the trust of the call. The owner's approval of this call counts; nothing asks
    again."""
    if context.approved:
        return "approved"
    return "untrusted" if "untrusted" in context.labels else "trusted"


async def _check_evidence(context: ToolContext, claims: Sequence[PersonClaim]) -> None:
    """Raise Rejected if a claim cites a turn that is not in the store."""
    for turn in dict.fromkeys(turn for claim in claims for turn in claim.evidence):
        if await context.host.store.library.turn(TurnId(turn)) is None:
            raise Rejected(f"evidence “{plain(turn)[:40]}” is not a known turn")


async def _list(memories: Memories) -> ToolResult:
    targets: tuple[Target, ...] = ("memory", "user", "person")
    pages = [await asyncio.to_thread(_page, memories, target) for target in targets]
    waiting = await asyncio.to_thread(memories.proposals)
    if waiting:
        count = counted(len(waiting), "proposal")
        pages.append(f"{count} for the person to decide about (/memory proposals).")
    return ToolResult(text="\n".join(pages), labels=(PRIVATE,))


def _page(memories: Memories, target: Target) -> str:
    entries, fill = memories.entries(target), memories.fill(target)
    head = f"{target}: {fill.chars:,} of {fill.most:,} characters"
    return "\n".join([head, *(f"- [{entry.id}] {_line(entry)}" for entry in entries)])


def _line(entry: MemoryEntry) -> str:
    return f"{plain(entry.text)} ({entry.author})"


async def _told(memories: Memories, made: MemoryVersion | MemoryProposal | Same) -> ToolResult:
    match made:
        case Same(entry=entry):
            return ToolResult(text=f"It is kept already: {_quoted(entry)}.")
        case MemoryVersion():
            fill = await asyncio.to_thread(memories.fill, made.target)
            kept, gone = ", ".join(map(_quoted, made.added)), ", ".join(map(_quoted, made.removed))
            said = f"kept {kept}" if kept else f"removed {gone or 'nothing'}"
            instead = f" instead of {gone}" if kept and gone else ""
            full = f"{made.target} is {fill.percent}% full"
            return ToolResult(text=f"Version {made.number}: {said}{instead}. {full}.")
        case MemoryProposal():
            return ToolResult(text=await _waits(memories, made))
        case _:
            assert_never(made)


def _quoted(entry: MemoryEntry) -> str:
    """Say what is kept, so that the model need not look: its words and its id."""
    text = plain(entry.text)
    shown = text if len(text) <= QUOTED_CHARS else f"{text[: QUOTED_CHARS - 1]}…"
    return f"{entry.id} “{shown}”"


async def _waits(memories: Memories, made: MemoryProposal) -> str:
    text = (
        f"Not applied: {made.why}. It waits as proposal {made.id} for the person, who decides with "
        f"/memory approve {made.id} or /memory reject {made.id}."
    )
    if made.why != FULL:
        return text
    entries = await asyncio.to_thread(memories.entries, made.change.target)
    least = listed(least_used(entries, LEAST_USED_SHOWN))
    return (
        f"{text} To make room, propose one shorter entry for several: replace, with their ids in "
        f"old_text. Used least: {least}."
    )

"""`memory`: what the agent keeps between conversations, entry by entry."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Literal, assert_never

import msgspec
from msgspec import Struct

from hermes.core.errors import Rejected, StoreFailed, ToolFailed
from hermes.core.ids import TurnId
from hermes.core.messages import Effect
from hermes.core.policy import PRIVATE, Capability, Finding
from hermes.core.ports import Bench, Tool, ToolResult, ToolSpec
from hermes.memory.lanes import is_review, source_turn
from hermes.memory.matching import listed
from hermes.memory.rules import CLAIMS_MAX, EVIDENCE_MAX, FULL, OLD_MAX, least_used
from hermes.memory.text import plain
from hermes.views.memory import By, Change, Claim, Entry, Memories, Proposal, Same, Target, Version

LEAST_USED_SHOWN = 5

SPEC = ToolSpec(
    name="memory",
    description=(
        "Keep short lasting facts across conversations: target memory (world, work) or user (the "
        "person). old_text names an entry by id or words; several in a replace become one. "
        "describe_person: claims about the person, each with the turns that show it."
    ),
    parameters=(
        '{"type":"object","properties":{"action":{"enum":["add","replace","remove","list",'
        '"describe_person"]},"target":{"enum":["memory","user"]},"content":{"type":"string"},'
        '"old_text":{"type":"array","items":{"type":"string"}},"claims":{"type":"array","items":'
        '{"type":"object","properties":{"kind":{"enum":["thesis","tension","synthesis"]},'
        '"claim":{"type":"string"},"confidence":{"enum":["low","medium","high"]},'
        '"evidence":{"type":"array","items":{"type":"string"}}},'
        '"required":["kind","claim"]}}},"required":["action"]}'
    ),
)


class PersonClaim(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A thesis, what speaks against it, or what follows from both."""

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
KNOWN = "Known are: action (required), target, content, old_text, claims."


def memory_tool(memories: Memories) -> Tool:
    async def run(bench: Bench) -> ToolResult:
        arguments = _parsed(bench.call.arguments)
        try:
            if arguments.action == "list":
                return await _list(memories)
            if arguments.action == "describe_person":
                await _check_evidence(bench, arguments.claims)
            made = await asyncio.to_thread(memories.change, _change(arguments), _by(bench))
            return await _told(memories, made)
        except (Rejected, StoreFailed) as refused:
            raise ToolFailed(f"Nothing was changed: {refused}.") from refused

    return Tool(
        spec=SPEC,
        check=_check,
        effect=_effect,
        run=run,
        capabilities=frozenset({Capability.WRITE_SELF}),
        judge=_judged,
        reviews=True,
    )


def _judged(arguments: str, _facts: Mapping[str, str]) -> Finding:
    lists = _parsed(arguments).action == "list"
    return Finding(capabilities=frozenset({Capability.READ_PRIVATE}) if lists else None)


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
    """The call's id names a change, so making it again is making it once."""
    try:
        return Effect.READ if _parsed(text).action == "list" else Effect.IDEMPOTENT
    except ToolFailed:
        return Effect.EFFECT


def _olds(arguments: MemoryArguments) -> tuple[str, ...]:
    olds = arguments.old_text
    return tuple(old for old in ((olds,) if isinstance(olds, str) else olds) if old.strip())


def _change(arguments: MemoryArguments) -> Change:
    target: Target = arguments.target
    match arguments.action:
        case "add":
            return Change(action="add", target=target, new=(Claim(arguments.content),))
        case "replace":
            new, old = (Claim(arguments.content),), _olds(arguments)
            return Change(action="replace", target=target, new=new, old=old)
        case "remove":
            return Change(action="remove", target=target, old=_olds(arguments))
        case "describe_person":
            return Change(action="describe", target="person", new=_claims(arguments.claims))
        case _:
            raise ToolFailed("That changes nothing.")


def _claims(claims: Sequence[PersonClaim]) -> tuple[Claim, ...]:
    return tuple(Claim(_worded(claim), claim.evidence) for claim in claims)


def _worded(claim: PersonClaim) -> str:
    """Everything a person wants to see of it is in the file, and may be edited there."""
    seen = f" (seen in {', '.join(map(plain, claim.evidence))})" if claim.evidence else ""
    return f"{claim.kind}, {claim.confidence}: {claim.claim}{seen}"


def _by(bench: Bench) -> By:
    reviews = is_review(bench.session)
    return By(
        author="background" if reviews else "agent",
        turn=source_turn(bench.session) if reviews else bench.turn,
        call=bench.call.id,
        trust="untrusted" if "untrusted" in bench.labels else "trusted",
    )


async def _check_evidence(bench: Bench, claims: Sequence[PersonClaim]) -> None:
    """A turn that nobody knows shows nothing."""
    for turn in dict.fromkeys(turn for claim in claims for turn in claim.evidence):
        if await bench.desk.store.library.turn(TurnId(turn)) is None:
            raise Rejected(f"evidence “{plain(turn)[:40]}” is no turn that is known")


async def _list(memories: Memories) -> ToolResult:
    targets: tuple[Target, ...] = ("memory", "user", "person")
    pages = [await asyncio.to_thread(_page, memories, target) for target in targets]
    waiting = await asyncio.to_thread(memories.proposals)
    if waiting:
        pages.append(f"{len(waiting)} proposals wait for the person (/memory proposals).")
    return ToolResult(text="\n".join(pages), labels=(PRIVATE,))


def _page(memories: Memories, target: Target) -> str:
    entries, fill = memories.entries(target), memories.fill(target)
    head = f"{target}: {fill.chars:,} of {fill.most:,} characters"
    return "\n".join([head, *(f"- [{entry.id}] {_line(entry)}" for entry in entries)])


def _line(entry: Entry) -> str:
    return f"{plain(entry.text)} ({entry.author})"


async def _told(memories: Memories, made: Version | Proposal | Same) -> ToolResult:
    match made:
        case Same(entry=entry):
            return ToolResult(text=f"It is kept already, as {entry.id}.")
        case Version():
            fill = await asyncio.to_thread(memories.fill, made.target)
            names = ", ".join(entry.id for entry in made.added) or "nothing"
            gone = ", ".join(entry.id for entry in made.removed)
            instead = f" instead of {gone}" if gone else ""
            full = f"{made.target} is {fill.percent}% full"
            return ToolResult(text=f"Version {made.number}: {names}{instead}. {full}.")
        case Proposal():
            return ToolResult(text=await _waits(memories, made))
        case _:
            assert_never(made)


async def _waits(memories: Memories, made: Proposal) -> str:
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

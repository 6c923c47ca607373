"""`/memory`: show, change and undo memories, and decide about proposals."""

import asyncio
from collections.abc import Sequence

from hermes.commands.elsewhere import by_owner
from hermes.commands.words import ago, counted, first_words
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.errors import Rejected, StoreFailed
from hermes.core.rules import Busy
from hermes.core.session import ref
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
)

NOT_HERE = "Memory works only in a private chat."
NOTHING_WAITS = "There are no proposals."
NO_VERSIONS = "Nothing has been kept yet."
USAGE = "Use /memory alone, or with one of: add, remove, history, undo, proposals, approve, reject."
HEADS: dict[Target, str] = {"memory": "Memory", "user": "About you", "person": "Portrait of you"}
SHOWN_CHARS_MAX = 300
VERSIONS_MAX = 10
ENTRIES_MAX = 100


def memory_command(memories: Memories) -> Command:
    async def run_async(call: CommandCall, _context: CommandContext) -> CommandResult:
        return CommandResult(replies=(call.reply(await _answered(memories, call)),))

    return Command(
        name="/memory",
        busy=Busy.NOW,
        summary="Show the memory; undo reverts the latest change, proposals lists open ones",
        run_async=run_async,
        argument="[undo [N] | proposals | approve ID | reject ID | history | add TEXT | remove ID]",
    )


async def _answered(memories: Memories, call: CommandCall) -> str:
    if not by_owner(call):
        return NOT_HERE
    try:
        return await asyncio.to_thread(_obeyed, memories, call)
    except (Rejected, StoreFailed) as refused:
        return f"Nothing was changed: {refused}."


def _obeyed(memories: Memories, call: CommandCall) -> str:
    """Run the command. The message's id names the change, so a second run changes nothing."""
    word, _, rest = call.argument.partition(" ")
    by, rest = By(author="person", call=f"chat:{ref(call.inbound)}"), rest.strip()
    match word.lower():
        case "" | "list" | "show":
            return _listed(memories)
        case "history":
            return _history(memories.versions(limit=VERSIONS_MAX), call.at)
        case "undo":
            return f"Undone. {_told(memories.undo(_number(rest), by))}"
        case "proposals":
            return _waiting(memories.proposals())
        case "approve":
            return _approved(memories.approve(rest.lower(), by))
        case "reject":
            return f"Dropped: {_proposed(memories.reject(rest.lower(), by))}"
        case "add" | "remove" as action:
            return _changed(memories, action, rest, by)
        case _:
            return USAGE


def _number(text: str) -> int | None:
    if text and not text.isdecimal():
        raise Rejected(f"“{first_words(text)}” is not a version; /memory history lists them")
    return int(text) if text else None


def _listed(memories: Memories) -> str:
    pages = [page for target in HEADS if (page := _page(memories, target))]
    waiting = len(memories.proposals())
    if waiting:
        verb = "waits" if waiting == 1 else "wait"
        pages.append(f"{counted(waiting, 'proposal')} {verb}: /memory proposals")
    return "\n\n".join(pages) or NO_VERSIONS


def _page(memories: Memories, target: Target) -> str:
    entries, fill = memories.entries(target), memories.fill(target)
    if not entries:
        return ""
    head = f"{HEADS[target]} ({fill.percent}% full):"
    more = [f"… and {len(entries) - ENTRIES_MAX} more"] if len(entries) > ENTRIES_MAX else []
    return "\n".join([head, *map(_entry, entries[:ENTRIES_MAX]), *more])


def _entry(entry: MemoryEntry) -> str:
    return f"{entry.id}: {first_words(entry.text, SHOWN_CHARS_MAX)}"


def _history(versions: Sequence[MemoryVersion], now: float) -> str:
    lines = [f"{version.number}: {ago(version.at, now)}, {_told(version)}" for version in versions]
    return "\n".join([*lines, "/memory undo N undoes one."]) if lines else NO_VERSIONS


def _told(version: MemoryVersion) -> str:
    who = {"person": "you", "agent": "Hermes", "background": "Hermes, in a review"}
    what = [f"- {_entry(entry)}" for entry in version.removed]
    what += [f"+ {_entry(entry)}" for entry in version.added]
    why = f"undo of {version.undoes}" if version.undoes else version.why
    return f"{why} by {who[version.by.author]}: {'; '.join(what) or 'only the layout'}"


def _waiting(proposals: Sequence[MemoryProposal]) -> str:
    if not proposals:
        return NOTHING_WAITS
    lines = [f"{each.id}: {_proposed(each)} Why it waits: {each.why}." for each in proposals]
    return "\n".join([*lines, "/memory approve ID applies one, /memory reject ID drops it."])


def _proposed(proposal: MemoryProposal) -> str:
    change = proposal.change
    new = "; ".join(f"“{first_words(claim.text, SHOWN_CHARS_MAX)}”" for claim in change.new)
    old = ", ".join(_entry(entry) for entry in proposal.old)
    where = HEADS[change.target].lower()
    source = f" (from turn {proposal.by.turn})" if proposal.by.turn else ""
    match change.action:
        case "add":
            return f"add {new} to {where}{source}."
        case "remove":
            return f"remove {old} from {where}{source}."
        case "replace":
            return f"replace {old} with {new} in {where}{source}."
        case _:
            return f"describe you as: {new}{source}."


def _approved(made: MemoryVersion | Same) -> str:
    if isinstance(made, Same):
        return f"I remember that already: {_entry(made.entry)}"
    return f"Applied as version {made.number}: {_told(made)}"


def _changed(memories: Memories, action: str, text: str, by: By) -> str:
    if action == "add":
        made = memories.change(
            MemoryChange(action="add", target="memory", new=(MemoryClaim(text),)), by
        )
    else:
        target = _home_of(memories, text)
        made = memories.change(MemoryChange(action="remove", target=target, old=(text,)), by)
    if isinstance(made, MemoryProposal):
        return _waiting([made])
    return _approved(made)


def _home_of(memories: Memories, name: str) -> Target:
    for target in HEADS:
        if any(entry.id == name.lower() for entry in memories.entries(target)):
            return target
    return "memory"

"""`/skills`, and `/<skill>` for each of them: use a skill by name.

A skill becomes a message of the same person, in the same commit as the command: after a crash
it is there once, and it waits, interrupts or steers as any message does.
"""

import asyncio
from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from msgspec.structs import replace

from hermes.commands.elsewhere import by_owner
from hermes.commands.words import counted, first_words
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.errors import Rejected
from hermes.core.events import MessageReceived
from hermes.core.ids import MessageId
from hermes.core.messages import Reply
from hermes.core.people import Role
from hermes.core.policy import UNTRUSTED
from hermes.core.rules import Busy
from hermes.core.session import ref
from hermes.ports.skills import SkillProposal, Skills

DIFF_CHARS_MAX = 6_000
LINE_CHARS_MAX = 90
OWNER_ONLY = "Only the owner can do this, in a private chat or in the terminal."
USAGE = (
    "/skills lists them. /skills view NAME, /skills run NAME [TEXT] (or just /NAME [TEXT]), "
    "/skills diff|approve|reject PROPOSAL, /skills undo|disable|enable NAME."
)
WORDS = {
    "person": "yours",
    "installed": "installed",
    "agent": "by the agent",
    "builtin": "built in",
}
T = TypeVar("T")
Known = Mapping[str, Command]


def skills_command(library: Skills) -> Command:
    async def run_async(call: CommandCall, _context: CommandContext) -> CommandResult:
        return await asyncio.to_thread(_skills, library, call)

    return Command(
        name="/skills",
        least=Role.PAIRED,
        busy=Busy.NOW,
        summary="List skills, use one, and decide on the agent's proposals",
        run_async=run_async,
        argument="[run|view|diff|approve|reject|undo|disable|enable NAME]",
    )


def skill_command(library: Skills, name: str, summary: str = "") -> Command:
    async def run_async(call: CommandCall, _context: CommandContext) -> CommandResult:
        return await asyncio.to_thread(_run, library, call, name, call.argument)

    return Command(
        name=f"/{name}",
        least=Role.PAIRED,
        busy=Busy.NOW,
        summary=summary or f"Use the skill {name}",
        run_async=run_async,
        argument="[TEXT]",
    )


def declared(library: Skills, taken: Known) -> tuple[Command, ...]:
    """Return a command for each usable skill, for lists. A skill with the name of a command is used
    with /skills run."""
    rows = [row for row in library.rows() if row.state == "on" and f"/{row.name}" not in taken]
    return tuple(skill_command(library, row.name, _summary(row.description)) for row in rows)


class LiveCommands(Mapping[str, T]):
    """Fixed commands, plus one for each current skill: a new skill works at once.

    The library is looked at only for a word that no fixed command has, and nothing is read then but
    names. `/daily_brief` is /daily-brief, for platforms where a command has no hyphen.
    """

    def __init__(self, fixed: Mapping[str, T], library: Skills, made: Callable[[str], T]) -> None:
        self._fixed = fixed
        self._shelf = library
        self._made = made

    def __getitem__(self, key: str) -> T:
        if key in self._fixed:
            return self._fixed[key]
        name = key.removeprefix("/").replace("_", "-")
        if not key.startswith("/") or not name or name not in self._shelf.names():
            raise KeyError(key)
        return self._made(name)

    def __iter__(self) -> Iterator[str]:
        yield from self._fixed
        yield from (f"/{n}" for n in sorted(self._shelf.names()) if f"/{n}" not in self._fixed)

    def __len__(self) -> int:
        return sum(1 for _ in self)


def live_commands(fixed: Known, library: Skills) -> Known:
    return LiveCommands(fixed, library, lambda name: skill_command(library, name))


def live_busy(fixed: Known, library: Skills) -> Mapping[str, Busy]:
    """Return the busy rules of the same commands."""
    busy = {name: command.busy for name, command in fixed.items()}
    return LiveCommands(busy, library, lambda _name: Busy.NOW)


def _skills(library: Skills, call: CommandCall) -> CommandResult:
    word, _, rest = call.argument.partition(" ")
    name, _, text = rest.strip().partition(" ")
    match word.lower():
        case "" | "list":
            return _said(call, _listed(library))
        case "proposals":
            return _said(call, "\n".join(_waiting(library)) or "There are no proposals.")
        case "run" if name:
            return _run(library, call, name.removeprefix("/"), text.strip())
        case "view" if name:
            return _said(call, _cut(library.text(name)))
        case "diff" if name:
            return _diff(library, call, name)
        case "approve" | "reject" | "undo" | "disable" | "enable" if name:
            return _decided(library, call, word.lower(), name)
        case _:
            return _said(call, USAGE)


def _run(library: Skills, call: CommandCall, name: str, text: str) -> CommandResult:
    """Return the message that uses a skill. Raise Rejected with a sentence for the person. An
    untrusted skill stays untrusted text, even if the owner asks for it."""
    instructions, source = library.read(name)
    foreign = (UNTRUSTED,) if source == "installed" else ()
    library.used(name, ref(call.inbound))
    asked = f"Use the skill {name}: {text}" if text else f"Use the skill {name}."
    said = replace(
        call.inbound,
        id=MessageId(f"{call.inbound.id}/skill"),
        text=f"{asked}\n\n<skill name={name!r}>\n{instructions.strip()}\n</skill>",
        before=(),
        labels=(*call.inbound.labels, *foreign),
    )
    return CommandResult(events=(MessageReceived(said, call.session.id),))


def _listed(library: Skills) -> str:
    rows = [row for row in library.rows() if row.state != "hidden"]
    lines = [
        f"/{row.name} ({WORDS[row.source]}): {first_words(row.description, LINE_CHARS_MAX)}"
        for row in rows
        if row.state == "on"
    ]
    off = [row.name for row in rows if row.state == "disabled"]
    refused = [f"{row.name} is not loaded: {row.problem}" for row in rows if row.state == "refused"]
    if off:
        lines.append(f"Disabled: {', '.join(off)}")
    waiting = _waiting(library)
    return "\n".join([*(lines or ["There are no skills."]), *refused, *waiting])


def _waiting(library: Skills) -> list[str]:
    proposals = library.proposals.waiting()
    if not proposals:
        return []
    head = f"{counted(len(proposals), 'proposal')} of the agent (/skills diff ID shows it):"
    return [head, *map(_proposal, proposals)]


def _proposal(proposal: SkillProposal) -> str:
    tainted = ", after reading untrusted text" * proposal.untrusted
    return f"- {proposal.id}: {proposal.action} {proposal.name}{tainted}: {proposal.why}"


def _diff(library: Skills, call: CommandCall, named: str) -> CommandResult:
    try:
        proposal = library.proposals.found(named)
    except Rejected:
        return _said(call, _fenced(library.difference(named)))
    advice = [
        f"! {finding.rule} in {finding.file}, line {finding.line}: {finding.text}"
        for finding in library.proposals.advice(proposal)
        if finding.grave
    ]
    lines = [_proposal(proposal), *advice, _fenced(library.proposals.difference(proposal))]
    reply = call.reply("\n".join(lines))
    if proposal.state == "waiting":
        yes, no = f"/skills approve {proposal.id}", f"/skills reject {proposal.id}"
        reply = replace(reply, buttons=(("Approve", yes), ("Reject", no)))
    return CommandResult(replies=(reply,))


def _decided(library: Skills, call: CommandCall, word: str, name: str) -> CommandResult:
    if not by_owner(call):
        return _said(call, OWNER_ONLY)
    match word:
        case "approve":
            made = library.proposals.approve(name)
            text = (
                f"{made.name} is active ({made.digest[:12]}). /skills undo {made.name} undoes it."
            )
        case "reject":
            text = f"Rejected: {library.proposals.reject(name).name}."
        case "undo":
            text = library.undo(name, ref(call.inbound)) + "."
        case _:
            library.switch(name, on=word == "enable")
            text = f"{name} is {word}d."
    return _said(call, text)


def _said(call: CommandCall, text: str) -> CommandResult:
    reply: Reply = call.reply(text)
    return CommandResult(replies=(reply,))


def _summary(description: str) -> str:
    return first_words(description.split(". ", 1)[0].rstrip("."), LINE_CHARS_MAX)


def _fenced(diff: str) -> str:
    return f"```diff\n{_cut(diff).rstrip()}\n```" if diff else "Nothing differs."


def _cut(text: str) -> str:
    if len(text) <= DIFF_CHARS_MAX:
        return text
    return f"{text[:DIFF_CHARS_MAX]}\n… (the rest: hermes skills view or diff, at the terminal)"

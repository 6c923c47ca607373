"""`send_message`: into another chat, through its own session, so that it is known there."""

import asyncio
from collections.abc import Mapping
from functools import reduce
from pathlib import Path

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.directory import listed, relay, target_of
from hermes.core.errors import Rejected, ToolFailed
from hermes.core.grants import is_beneath
from hermes.core.messages import PROVENANCE, Effect, Media, Outcome
from hermes.core.policy import PRIVATE, UNTRUSTED, Capability, Finding
from hermes.core.ports import Bench, Tool, ToolResult, ToolSpec
from hermes.core.rules import Ask, Deny
from hermes.tools.arguments import Arguments
from hermes.tools.opening import content_of
from hermes.tools.paths import Places, here, lexical
from hermes.tools.reachable import Reach, reach_of, worse
from hermes.views.rare import kind_of

CHATS_MAX = 1_000
FILES_MAX = 10
FILE_BYTES_MAX = 20_000_000
TEXT_CHARS_MAX = 50_000
OUT = frozenset({Capability.EGRESS})
LISTS = frozenset({Capability.READ_PRIVATE, Capability.READ_UNTRUSTED})  # anybody names a chat

SPEC = ToolSpec(
    name="send_message",
    description=(
        "Send a message into another chat: target is home, PLATFORM:CHAT or PLATFORM:NAME; "
        "without a target, list the chats. Your answer here needs no tool."
    ),
    parameters=(
        '{"type":"object","properties":{"target":{"type":"string"},"text":{"type":"string"},'
        '"files":{"type":"array","items":{"type":"string"}}}}'
    ),
)


class SendArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    target: str = ""
    text: str = ""
    files: tuple[str, ...] = ()


def send_rule(arguments: SendArguments) -> str:
    if arguments.target and not arguments.text.strip() and not arguments.files:
        return "text: say what to send."
    if len(arguments.text) > TEXT_CHARS_MAX:
        return f"text: longer than {TEXT_CHARS_MAX:,} characters; send a file."
    if len(arguments.files) > FILES_MAX:
        return f"files: at most {FILES_MAX}."
    return ""


def send_effect(arguments: SendArguments) -> Effect:
    """The call's id names the message, so sending it again is sending it once."""
    return Effect.IDEMPOTENT if arguments.target else Effect.READ


ARGUMENTS = Arguments(SendArguments, send_rule)


def send_tool(places: Places) -> Tool:
    async def run(bench: Bench) -> ToolResult:
        return await _send(here(places, bench.facts), bench)

    return Tool(
        spec=SPEC,
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(send_effect),
        run=run,
        capabilities=OUT,
        judge=lambda arguments, facts: _judged(places, arguments, facts),
    )


def _judged(places: Places, arguments: str, facts: Mapping[str, str]) -> Finding:
    """Without a target it tells which chats there are, and nothing leaves."""
    given = ARGUMENTS.parse(arguments)
    if not given.target:
        return Finding(capabilities=LISTS)
    ground = here(places, facts)
    found = [_attachable(ground, lexical(ground, facts, name)) for name in given.files]
    return reduce(lambda one, other: worse(one, other, OUT), found, Finding())


def _attachable(places: Places, full: str) -> Finding:
    """Only what is in the workspace goes out: a path that strangers talked us into is not."""
    if not is_beneath(full, places.root) or reach_of(places, full) is Reach.GUARDED:
        outside = f"{full} is outside of the workspace. Copy it there, then send the copy"
        return Finding(verdict=Deny(outside))
    if reach_of(places, full) is Reach.KEYS:
        return Finding(verdict=Ask(f"{full} may hold keys or passwords"))
    return Finding()


async def _send(places: Places, bench: Bench) -> ToolResult:
    arguments, desk = ARGUMENTS.parse(bench.call.arguments), bench.desk
    chats = await desk.store.library.chats(limit=CHATS_MAX)
    homes = await desk.store.library.homes()
    if not arguments.target:
        return ToolResult(text=listed(chats, homes), labels=(PRIVATE, UNTRUSTED))
    try:
        target = target_of(arguments.target, chats, homes)
        media = [await _file(places, bench, name) for name in arguments.files]
        id_, at = str(bench.call.id), desk.clock()
        said = relay(target, arguments.text, media, account="tool", id_=id_, at=at)
        labels = tuple(sorted(bench.labels & PROVENANCE))  # it is no better there than here
        await desk.accept(replace(said, labels=labels))
    except Rejected as refused:
        labels = (PRIVATE, UNTRUSTED)  # the names of other chats are in it
        return ToolResult(text=f"Not sent: {refused}.", outcome=Outcome.FAILED, labels=labels)
    where = f"{target.address.platform}:{target.address.chat}"
    return ToolResult(text=f"It is on its way to {where}; it is kept until it is taken there.")


async def _file(places: Places, bench: Bench, name: str) -> Media:
    path = Path(lexical(places, bench.facts, name))
    verdict = _attachable(places, str(path)).verdict
    if isinstance(verdict, Deny):
        raise ToolFailed(f"Not sent: {verdict.why}.")
    content = await asyncio.to_thread(content_of, places, path, FILE_BYTES_MAX)
    kind = kind_of(path.name)
    return await bench.desk.media.put(content, kind, path.name)

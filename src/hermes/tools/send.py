"""`send_message`: into another chat, through its own session, so that it is known there."""

import asyncio
from collections.abc import Mapping, Sequence
from functools import reduce

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.directory import CHATS_MAX, listed, relay, target_of
from hermes.core.errors import Rejected, ToolFailed
from hermes.core.grants import is_beneath
from hermes.core.messages import PROVENANCE, Address, Effect, Media, Outcome
from hermes.core.people import derived
from hermes.core.policy import PRIVATE, UNTRUSTED, Capability, Finding
from hermes.core.ports import Tool, ToolContext, ToolResult
from hermes.core.rules import Ask, Deny
from hermes.core.store import ChatRow, Home
from hermes.ports.workspace import Workspace, WorkspacePaths
from hermes.text.media_types import media_type_of
from hermes.tools.arguments import Arguments
from hermes.tools.files.file_labels import FileLabels, together
from hermes.tools.files.opening import JudgedFiles
from hermes.tools.files.paths import here, lexical, path_of
from hermes.tools.files.reachable import Sensitivity, reach_of, worse
from hermes.views.tool_specs import spec_of

FILES_MAX = 10
FILE_BYTES_MAX = 20_000_000
TEXT_CHARS_MAX = 50_000
OUT = frozenset({Capability.EGRESS})
LISTS = frozenset({Capability.READ_PRIVATE, Capability.READ_UNTRUSTED})  # anybody names a chat

DESCRIPTION = (
    "Send a message into another chat: target is home, PLATFORM:CHAT or PLATFORM:NAME; "
    "without a target, list the chats. Your answer here needs no tool."
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


def send_tool(workspace: Workspace, labels: FileLabels | None = None) -> Tool:
    places = workspace.places

    async def run(context: ToolContext) -> ToolResult:
        files = JudgedFiles(workspace.files, here(places, context.facts))
        return await _send(files, context, labels)

    return Tool(
        question="Send this message?",
        spec=spec_of("send_message", DESCRIPTION, SendArguments),
        check=ARGUMENTS.check,
        effect=ARGUMENTS.effect(send_effect),
        run=run,
        capabilities=OUT,
        ways=(OUT, LISTS),
        judge=lambda arguments, facts: _judged(places, arguments, facts),
        address=_address,
    )


def _address(arguments: str, chats: Sequence[ChatRow], homes: Sequence[Home]) -> Address | None:
    target = ARGUMENTS.parse(arguments).target
    return target_of(target, chats, homes).address if target else None


def _judged(places: WorkspacePaths, arguments: str, facts: Mapping[str, str]) -> Finding:
    """Without a target it tells which chats there are, and nothing leaves."""
    given = ARGUMENTS.parse(arguments)
    if not given.target:
        return Finding(capabilities=LISTS)
    ground = here(places, facts)
    found = [_attachable(ground, lexical(ground, facts, name)) for name in given.files]
    return reduce(lambda one, other: worse(one, other, OUT), found, Finding())


def _attachable(places: WorkspacePaths, full: str) -> Finding:
    """Only what is in the workspace goes out: a path that strangers talked us into is not."""
    if not is_beneath(full, places.root) or reach_of(places, full) is Sensitivity.GUARDED:
        outside = f"{full} is outside of the workspace. Copy it there, then send the copy"
        return Finding(verdict=Deny(outside))
    if reach_of(places, full) is Sensitivity.KEYS:
        return Finding(verdict=Ask(f"{full} may hold keys or passwords"))
    return Finding()


async def _send(files: JudgedFiles, context: ToolContext, known: FileLabels | None) -> ToolResult:
    arguments, host = ARGUMENTS.parse(context.call.arguments), context.host
    chats = await host.store.library.chats(limit=CHATS_MAX)
    homes = await host.store.library.homes()
    if not arguments.target:
        return ToolResult(text=listed(chats, homes), labels=(PRIVATE, UNTRUSTED))
    try:
        target = target_of(arguments.target, chats, homes)
        media = [await _file(files, context, name) for name in arguments.files]
        id_, at = str(context.call.id), host.clock()
        said = relay(target, arguments.text, media, account="tool", id_=id_, at=at)
        paths = [lexical(files.places, context.facts, name) for name in arguments.files]
        read = await asyncio.to_thread(lambda: [known.of(path) for path in paths]) if known else []
        own = tuple(context.labels & PROVENANCE)  # it is no better there than here
        labels = together([own, *read])
        await host.accept(derived(replace(said, labels=labels), context.principal))
    except Rejected as refused:
        labels = (PRIVATE, UNTRUSTED)  # the names of other chats are in it
        return ToolResult(text=f"Not sent: {refused}.", outcome=Outcome.FAILED, labels=labels)
    where = f"{target.address.platform}:{target.address.chat}"
    return ToolResult(text=f"It is on its way to {where}; it is kept until it is taken there.")


async def _file(files: JudgedFiles, context: ToolContext, name: str) -> Media:
    path = path_of(files.places, context.facts, name)
    verdict = _attachable(files.places, str(path)).verdict
    if isinstance(verdict, Deny):
        raise ToolFailed(f"Not sent: {verdict.why}.")
    content = await asyncio.to_thread(files.content, path, FILE_BYTES_MAX)
    kind = media_type_of(path.name)
    return await context.host.media.put(content, kind, path.name)

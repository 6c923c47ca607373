"""hermes prompt show: print the system prompt, and what it costs."""

import asyncio
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes.agent.prompt import compose
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.sessions import find_session
from hermes.cli.lookup.store import open_required_store
from hermes.cli.options import json_option
from hermes.cli.prompt.parts import Compose, with_prompt_parts
from hermes.core.budget import tokens_of
from hermes.core.errors import Rejected
from hermes.core.ports import ToolSpec

if TYPE_CHECKING:
    from argparse import ArgumentParser


BAR_CHARS = 100  # for all parts and tools together
PLATFORM = "local"


class PromptShowOptions(JsonOptions):
    session: str | None
    platform: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--session", metavar="NAME", help="the stored prompt of this session's conversation"
    )
    parser.add_argument(
        "--platform",
        default=PLATFORM,
        metavar="NAME",
        help=f"as a new conversation on this platform gets it (default: {PLATFORM})",
    )
    json_option(parser)


def run(options: PromptShowOptions, context: CliContext, compose_for: Compose) -> int:
    if options.session is not None:
        return asyncio.run(_show_stored(options, options.session, context))
    return asyncio.run(_show_fresh(options, context, compose_for))


async def _show_fresh(options: PromptShowOptions, context: CliContext, compose_for: Compose) -> int:
    """Show the prompt of a conversation that would begin now: here, or where the gateway works."""
    settings = context.settings()
    folder = Path.cwd() if options.platform == PLATFORM else context.home / "workspace"
    prompt = await compose_for(context.home, settings, folder, options.platform)
    window = settings.model.context_length
    text = compose(prompt.parts)
    parts = [(part.name, tokens_of(part.text)) for part in prompt.parts]
    tools = [(tool.name, _tokens(tool)) for tool in prompt.tools]
    system, total = tokens_of(text), tokens_of(text) + sum(count for _name, count in tools)
    if options.json:
        document = {
            "platform": options.platform,
            "parts": [
                {"name": part.name, "tokens": tokens_of(part.text), "text": part.text}
                for part in prompt.parts
            ],
            "tools": [{"name": name, "tokens": count} for name, count in tools],
            "labels": prompt.labels,
            "tokens": {"system": system, "tools": total - system, "total": total},
        }
        context.console.document({**document, **_share(total, window)})
        return DONE
    for part in prompt.parts:
        context.console.head(f"{part.name} ({tokens_of(part.text):,} tokens)")
        context.console.say(f"{part.text.strip()}\n\n")
    _table(context, "PART", parts, total)
    context.console.say("")
    _table(context, "TOOL", tools, total)
    context.console.say(f"\nsystem prompt  {system:>7,} tokens")
    context.console.say(f"tools          {total - system:>7,} tokens")
    context.console.say(f"together       {total:>7,} tokens{_of_window(total, window)}")
    if prompt.labels:
        context.console.tell(f"In it is {', '.join(prompt.labels)} text; see docs/PROMPT.md.")
    return DONE


async def _show_stored(options: PromptShowOptions, name: str, context: CliContext) -> int:
    """Show the exact prompt that this conversation's requests begin with."""
    async with open_required_store(context) as store:
        row = await find_session(store, name)
        session = await store.journal.load(row.key)
        digest = session.facts.prompt
        text = await store.texts.text(digest) if digest else None
        told = await store.texts.text(session.facts.tools)
    if text is None:
        raise Rejected(f"“{session_name(row.key)}” has no prompt yet; its next message creates it")
    specs = msgspec.json.decode(told, type=list[ToolSpec]) if told else []
    tools = {"tools": [{"name": spec.name, "tokens": _tokens(spec)} for spec in specs]}
    window, tokens = context.settings().model.context_length, tokens_of(text)
    if options.json:
        shown = {"session": row.key, "session_id": row.id, "digest": digest, "text": text}
        context.console.document({**shown, **tools, "tokens": tokens, **_share(tokens, window)})
        return DONE
    share = _of_window(tokens, window)
    context.console.head(
        f"{session_name(row.key)}, conversation {row.id}: {tokens:,} tokens{share}"
    )
    context.console.say(text)
    if specs:
        context.console.tell(f"Its tools: {', '.join(spec.name for spec in specs)}")
    return DONE


def _tokens(tool: ToolSpec) -> int:
    return tokens_of(tool.name + tool.description + tool.parameters)


def _table(context: CliContext, heading: str, rows: Sequence[tuple[str, int]], total: int) -> None:
    """Print the table, with bars on a terminal; together they make one bar."""
    bars = context.console.stdout.isatty()
    cells = [
        (
            name,
            f"{count:,}",
            f"{count / max(total, 1):.0%}",
            "▇" * round(BAR_CHARS * count / max(total, 1)) if bars else "",
        )
        for name, count in rows
    ]
    context.console.table((heading, "TOKENS", "SHARE", ""), cells)


def _share(tokens: int, window: int | None) -> Mapping[str, object]:
    return {"window": window, "share": round(tokens / window, 4) if window else None}


def _of_window(tokens: int, window: int | None) -> str:
    return f", {tokens / window:.1%} of the {window:,} that the model reads" if window else ""


COMMAND = CliCommand(
    options=PromptShowOptions,
    run=with_prompt_parts(run),
    arguments=_arguments,
    more="""examples:
  hermes prompt show
  hermes prompt show --platform telegram
  hermes prompt show --session main

A conversation keeps the prompt that it began with, whatever changes on disk:
--session shows that one. Tokens are counted by size, before a model has seen it.""",
)

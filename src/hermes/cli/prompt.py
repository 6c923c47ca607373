"""hermes prompt show: what the model is told before anybody has said a word, and what it costs."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path

from hermes.agent.prompt import Overhead, compose
from hermes.cli import prompt_grammar as grammar
from hermes.cli.errors import DONE
from hermes.cli.lanes import called
from hermes.cli.names import found
from hermes.cli.place import Place
from hermes.cli.stored import needed
from hermes.core.budget import tokens_of
from hermes.core.errors import Rejected
from hermes.core.ports import ToolSpec
from hermes.settings import Settings

BAR_CHARS = 100  # for all parts and tools together
Compose = Callable[[Path, Settings, Path, str], Awaitable[Overhead]]  # home, …, folder, platform


def run_show(given: grammar.Prompt, place: Place, compose_for: Compose) -> int:
    if given.session is not None:
        return asyncio.run(_kept(given, given.session, place))
    return asyncio.run(_fresh(given, place, compose_for))


async def _fresh(given: grammar.Prompt, place: Place, compose_for: Compose) -> int:
    """As a conversation that begins now would get it: here, or where the gateway works."""
    settings = place.settings()
    folder = Path.cwd() if given.platform == grammar.PLATFORM else place.home / "workspace"
    prompt = await compose_for(place.home, settings, folder, given.platform)
    window = settings.model.context_length
    text = compose(prompt.parts)
    parts = [(part.name, tokens_of(part.text)) for part in prompt.parts]
    tools = [(tool.name, _tokens(tool)) for tool in prompt.tools]
    system, total = tokens_of(text), tokens_of(text) + sum(count for _name, count in tools)
    if given.json:
        document = {
            "platform": given.platform,
            "parts": [
                {"name": part.name, "tokens": tokens_of(part.text), "text": part.text}
                for part in prompt.parts
            ],
            "tools": [{"name": name, "tokens": count} for name, count in tools],
            "labels": prompt.labels,
            "tokens": {"system": system, "tools": total - system, "total": total},
        }
        place.console.document({**document, **_share(total, window)})
        return DONE
    for part in prompt.parts:
        place.console.head(f"{part.name} ({tokens_of(part.text):,} tokens)")
        place.console.say(f"{part.text.strip()}\n\n")
    _table(place, "PART", parts, total)
    place.console.say("")
    _table(place, "TOOL", tools, total)
    place.console.say(f"\nsystem prompt  {system:>7,} tokens")
    place.console.say(f"tools          {total - system:>7,} tokens")
    place.console.say(f"together       {total:>7,} tokens{_of_window(total, window)}")
    if prompt.labels:
        place.console.tell(f"In it is {', '.join(prompt.labels)} text; see docs/PROMPT.md.")
    return DONE


async def _kept(given: grammar.Prompt, name: str, place: Place) -> int:
    """The very bytes that this conversation's requests begin with."""
    async with needed(place) as store:
        row = await found(store, name)
        session = await store.journal.load(row.key)
        digest = session.facts.get("prompt", "")
        text = await store.texts.text(digest) if digest else None
    if text is None:
        raise Rejected(f"“{called(row.key)}” has no prompt yet: its next message makes it")
    window, tokens = place.settings().model.context_length, tokens_of(text)
    if given.json:
        shown = {"session": row.key, "session_id": row.id, "digest": digest, "text": text}
        place.console.document({**shown, "tokens": tokens, **_share(tokens, window)})
        return DONE
    share = _of_window(tokens, window)
    place.console.head(f"{called(row.key)}, conversation {row.id}: {tokens:,} tokens{share}")
    place.console.say(text)
    return DONE


def _tokens(tool: ToolSpec) -> int:
    return tokens_of(tool.name + tool.description + tool.parameters)


def _table(place: Place, heading: str, rows: Sequence[tuple[str, int]], total: int) -> None:
    """With bars where there are eyes for them; all bars of the whole are one bar."""
    bars = place.console.stdout.isatty()
    cells = [
        (
            name,
            f"{count:,}",
            f"{count / max(total, 1):.0%}",
            "▇" * round(BAR_CHARS * count / max(total, 1)) if bars else "",
        )
        for name, count in rows
    ]
    place.console.table((heading, "TOKENS", "SHARE", ""), cells)


def _share(tokens: int, window: int | None) -> Mapping[str, object]:
    return {"window": window, "share": round(tokens / window, 4) if window else None}


def _of_window(tokens: int, window: int | None) -> str:
    return f", {tokens / window:.1%} of the {window:,} that the model reads" if window else ""

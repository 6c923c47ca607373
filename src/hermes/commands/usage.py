"""`/usage` and `/insights`: tokens and costs of this conversation, today, and the last weeks."""

from collections.abc import Callable, Iterator, Sequence

from msgspec.structs import replace

from hermes.commands.elsewhere import by_owner
from hermes.commands.words import counted, lasting
from hermes.core.channel import Command, CommandCall, CommandContext, CommandResult
from hermes.core.people import Role
from hermes.core.rules import Busy
from hermes.core.session import Session
from hermes.core.store import ToolSum
from hermes.views.amounts import price, share, sparks, tokens
from hermes.views.chart import Sheet, chart
from hermes.views.insights import (
    DAY_S,
    DAYS,
    DAYS_MAX,
    Cost,
    Figure,
    Insights,
    insights,
    period,
    spent_figure,
    total,
)
from hermes.views.session_names import short_key
from hermes.views.svg import svg

LINES_MAX = 5
WRONG_DAYS = f"Say how many days, from 1 to {DAYS_MAX}: /insights {DAYS}"
NOTHING = "No model calls in that time."

# A chart of the figures: its bytes, its media type and its file name.
Painted = Callable[[Sheet], tuple[bytes, str, str]]


def as_svg(sheet: Sheet) -> tuple[bytes, str, str]:
    """Return the chart as SVG, for when PNG cannot be rendered."""
    return svg(sheet).encode(), "image/svg+xml", "insights.svg"


async def _usage(
    call: CommandCall, context: CommandContext, cost: Cost, window: Callable[[Session], int | None]
) -> CommandResult:
    """Show tokens and costs. Only the owner is told about other people's use."""
    session, library = call.session, context.store.library
    today = call.at - call.at % DAY_S
    here = await library.spent(since=0.0, key=session.key, conversation=session.id)
    figures = [spent_figure(here, cost, "This conversation")]
    if by_owner(call):
        day = await library.spent(since=today)
        figures.append(spent_figure(day, cost, "Today, everywhere"))
    lines = [line for figure in figures for line in _told(figure)]
    if session.filled:
        lines.append(_fill(session.filled, window(session)))
    return CommandResult(replies=(call.reply("\n".join(lines)),))


def _told(figure: Figure) -> Iterator[str]:
    if not figure.calls:
        yield f"{figure.name}: no model calls."
        return
    used = figure.tokens
    yield f"{figure.name}: {counted(figure.calls, 'model call')}, {price(figure)}."
    parts = [f"{used.input:,} in"]
    if used.cached and figure.cache_share is not None:
        parts.append(f"{used.cached:,} of them cached ({share(figure.cache_share)})")
    if used.cache_written:
        parts.append(f"{used.cache_written:,} written to the cache")
    parts.append(f"{used.output:,} out")
    if used.reasoning:
        parts.append(f"{used.reasoning:,} of them reasoning")
    yield f"Tokens: {', '.join(parts)}."
    if figure.unknown:
        yield f"No price is known for {', '.join(figure.unknown[:LINES_MAX])}: see `prices`."


def _fill(filled: int, window: int | None) -> str:
    of = f" of {window:,}" if window else ""
    full = f" ({share(filled / window)})" if window else ""
    return f"This conversation fills about {filled:,}{of} tokens{full} of the model's context."


async def _insights(
    call: CommandCall, context: CommandContext, cost: Cost, painted: Painted
) -> CommandResult:
    said = call.argument.strip() or str(DAYS)
    if not (said.isascii() and said.isdigit() and 1 <= int(said) <= DAYS_MAX):
        return CommandResult(replies=(call.reply(WRONG_DAYS),))
    since, until = period(int(said), call.at)
    spending = await context.store.library.usage(since=since, until=until)
    found = _of_others_hidden(insights(spending, cost, since=since, until=until), call)
    if not found.total.calls:
        return CommandResult(replies=(call.reply(NOTHING),))
    content, media_type, name = painted(chart(found))
    picture = await context.media.put(content, media_type, name)
    return CommandResult(replies=(replace(call.reply("\n".join(_lines(found))), media=(picture,)),))


def _of_others_hidden(found: Insights, call: CommandCall) -> Insights:
    """Hide the names of other chats from a chat; the owner sees all of them."""
    if by_owner(call):
        return found
    own = [figure for figure in found.sessions if figure.name == call.session.key]
    others = [figure for figure in found.sessions if figure.name != call.session.key]
    shown = (total(own, "this chat"), total(others, "other chats"))
    return replace(found, sessions=tuple(each for each in shown if each.calls), people=())


def _lines(found: Insights) -> Iterator[str]:
    days = counted(len(found.days), "day")
    calls, cost = counted(found.total.calls, "model call"), price(found.total)
    yield f"The last {days}: {calls}, {tokens(found.total.total)} tokens, {cost}."
    if len(found.days) > 1:
        yield f"By day: {sparks([float(day.total) for day in found.days])}"
    named: Sequence[tuple[str, Sequence[Figure]]] = (
        ("Models", found.models),
        ("Purposes", found.purposes),
        ("Platforms", found.platforms),
        ("Chats", found.sessions),
    )
    for heading, figures in named:
        told = (f"{_name(f)} {tokens(f.total)} ({price(f)})" for f in figures[:LINES_MAX])
        yield f"{heading}: {'; '.join(told)}"
    if found.tools:
        yield f"Tools: {'; '.join(_tool(tool) for tool in found.tools[:LINES_MAX])}"


def _name(figure: Figure) -> str:
    return short_key(figure.name) or "unnamed"


def _tool(tool: ToolSum) -> str:
    failed = f", {tool.failed} failed" if tool.failed else ""
    took = f", {lasting(tool.seconds / tool.timed)} each" if tool.timed else ""
    return f"{tool.tool} {tool.calls}{failed}{took}"


def usage_commands(
    cost: Cost, painted: Painted, window: Callable[[Session], int | None] = lambda _session: None
) -> tuple[Command, ...]:
    """Return the commands. `window` gives the context window of the session's model, if known."""
    return (
        Command(
            name="/usage",
            least=Role.PAIRED,
            busy=Busy.NOW,
            summary="Show tokens and costs of this conversation and of today",
            run_async=lambda call, context: _usage(call, context, cost, window),
        ),
        Command(
            name="/insights",
            busy=Busy.NOW,
            summary="Show tokens and costs of the last days, with a chart",
            run_async=lambda call, context: _insights(call, context, cost, painted),
            argument="[DAYS]",
        ),
    )

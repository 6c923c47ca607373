"""hermes insights: how models and tools were used, with plots, as JSON, or as a picture."""

import asyncio
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from hermes.app.costs import png_of, pricing
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.lookup.store import open_existing_store
from hermes.cli.options import json_option, number_to
from hermes.cli.output.console import Console
from hermes.cli.output.files import saved
from hermes.cli.output.times import took
from hermes.core.ids import SessionKey
from hermes.core.store import Spending, ToolSum
from hermes.installed import how_to_add
from hermes.views.amounts import Bar, price, rows, share, sparks, tokens
from hermes.views.chart import chart
from hermes.views.insights import Figure, Insights, document, insights, period
from hermes.views.svg import svg

if TYPE_CHECKING:
    from argparse import ArgumentParser


BARS_MAX = 31  # days as bars; more of them as one line of sparks
ROWS_MAX = 10
WIDTH, WIDTH_MAX = 80, 120
BAR_COLOUR = "\x1b[36m{}\x1b[0m"
NOTHING = "No model calls in that time. Start a conversation: hermes chat -q hello"
DAYS, DAYS_MAX = 30, 3_660


class InsightsOptions(JsonOptions):
    days: int
    svg: str | None
    png: str | None


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--days",
        type=number_to(DAYS_MAX),
        default=DAYS,
        metavar="N",
        help=f"number of days, today included (default: {DAYS})",
    )
    parser.add_argument("--svg", metavar="FILE", help="write a chart to a file")
    parser.add_argument("--png", metavar="FILE", help="the same as PNG (with the extra “pictures”)")
    json_option(parser)


def run(options: InsightsOptions, context: CliContext) -> int:
    found = asyncio.run(_collect(options, context))
    drawn = [name for name in (options.svg, options.png) if name]
    if options.svg:
        saved(options.svg, svg(chart(found)).encode())
    if options.png:
        saved(options.png, png_of(chart(found)))
    for name in drawn:
        context.console.tell(f"Written: {name}")
    if options.json:
        context.console.document(document(found))
    elif not found.total.calls:
        context.console.tell(NOTHING)
    elif not drawn:
        _show(found, context.console)
    return DONE


async def _collect(options: InsightsOptions, context: CliContext) -> Insights:
    since, until = period(options.days, context.clock())
    spending = Spending()
    async with open_existing_store(context) as store:
        if store is not None:
            spending = await store.library.usage(since=since, until=until)
    return insights(spending, pricing(context.settings()), since=since, until=until)


def _show(found: Insights, console: Console) -> None:
    width = min(shutil.get_terminal_size((WIDTH, 24)).columns - 1, WIDTH_MAX)
    fancy = is_fancy(console.environ)
    console.head(f"{found.days[0].name} to {found.days[-1].name} (UTC)")
    for line in _totals(found.total):
        console.say(line)
    for heading, bars in _sections(found):
        if bars:
            console.say("")
            console.head(heading)
            for row in rows(bars, width, fancy=fancy):
                bar = BAR_COLOUR.format(row.bar) if console.colours(console.stdout) else row.bar
                line = "  ".join(part for part in (row.name, bar, row.note) if part)
                console.stdout.write(f"{line.rstrip()}\n")
    if len(found.days) > BARS_MAX:
        console.say("")
        console.head(f"By day, to {found.days[-1].name}")
        values = [float(day.total) for day in found.days]
        for start in range(0, len(values), width):
            console.say(sparks(values[start : start + width], fancy=fancy))
    for model in found.total.unknown[:ROWS_MAX]:
        console.tell(
            f"No price is known for {model}: set it under `prices` in config.yaml, or install "
            f"the list of prices: {how_to_add('prices')}"
        )


def _totals(total: Figure) -> Iterator[str]:
    used = total.tokens
    calls = "1 model call" if total.calls == 1 else f"{total.calls:,} model calls"
    yield f"{calls}, {tokens(total.total)} tokens, {price(total)}"
    cached = f" ({share(total.cache_share)} cached)" if total.cache_share else ""
    written = f", {tokens(used.cache_written)} written to the cache" if used.cache_written else ""
    thought = f" ({tokens(used.reasoning)} reasoning)" if used.reasoning else ""
    yield f"{tokens(used.input)} in{cached}{written}, {tokens(used.output)} out{thought}"


def _sections(found: Insights) -> Iterator[tuple[str, Sequence[Bar]]]:
    if len(found.days) <= BARS_MAX:
        yield "By day", [_bar(day, day.name) for day in _from_the_first(found.days)]
    yield "By model", _bars(found.models)
    yield "By purpose", _bars(found.purposes)
    yield "By platform", _bars(found.platforms)
    yield (
        "By session",
        _bars(found.sessions, lambda name: session_name(SessionKey(name)), "(deleted)"),
    )
    yield "By person", _bars(found.people)
    yield "By tool", [_tool(tool) for tool in found.tools[:ROWS_MAX]]


def _from_the_first(days: Sequence[Figure]) -> Sequence[Figure]:
    """Return the days without the empty ones at the beginning."""
    used = (context for context, day in enumerate(days) if day.calls)
    return days[next(used, max(0, len(days) - 1)) :]


def _bars(
    figures: Sequence[Figure], shown: Callable[[str], str] = str, empty: str = "(nobody)"
) -> Sequence[Bar]:
    return [_bar(each, shown(each.name) if each.name else empty) for each in figures[:ROWS_MAX]]


def _bar(figure: Figure, name: str) -> Bar:
    return Bar(name, figure.total, f"{tokens(figure.total)}  {price(figure)}")


def _tool(tool: ToolSum) -> Bar:
    failed = f"{tool.failed} failed, " if tool.failed else ""
    each = f", {took(tool.seconds / tool.timed)} each" if tool.timed else ""
    calls = "1 call" if tool.calls == 1 else f"{tool.calls:,} calls"
    return Bar(tool.tool, tool.calls, f"{failed}{calls}{each}")


def is_fancy(environ: Mapping[str, str]) -> bool:
    """Return True if a plot may use more than ASCII, by the first locale variable that is set."""
    locale = next((environ[name] for name in _LOCALES if environ.get(name)), "UTF-8")
    utf8 = locale.lower().replace("-", "").endswith("utf8")
    return utf8 and environ.get("TERM") != "dumb"


_LOCALES = ("LC_ALL", "LC_CTYPE", "LANG")


COMMAND = CliCommand(
    options=InsightsOptions,
    run=run,
    arguments=_arguments,
)

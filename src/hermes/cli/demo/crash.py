"""hermes demo crash: kill a gateway in mid-command, and see the turn finish."""

import asyncio
import shutil
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.demo import drawing as drawn
from hermes.cli.demo.picture import picture
from hermes.cli.demo.play import Play, scratch
from hermes.cli.demo.story import Beat, Story, story_of
from hermes.cli.errors import DONE, FAILED
from hermes.cli.maintenance.insights import is_fancy
from hermes.cli.options import json_option
from hermes.cli.output.files import saved

if TYPE_CHECKING:
    from argparse import ArgumentParser


WIDTH, WIDTH_MAX = 100, 120
TITLE = "A turn is cut off by SIGKILL in the middle of a command"
GROUND = "A real gateway on a scratch home; the model answers by script: no key, no network."
HELD = "The turn was finished as if nothing had happened."
BROKEN = "A promise was not kept. Please report this, with what is printed above."


class DemoCrashOptions(JsonOptions):
    svg: str | None


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("--svg", metavar="FILE", help="also write the timeline to a file")
    json_option(parser)


def run(options: DemoCrashOptions, context: CliContext) -> int:
    story = asyncio.run(_play(options, context))
    if options.svg:
        saved(options.svg, picture(story).encode())
        context.console.tell(f"Written: {options.svg}")
    if options.json:
        context.console.document({**msgspec.to_builtins(story), "holds": story.holds})
    else:
        _show(story, context)
    return DONE if story.holds else FAILED


async def _play(options: DemoCrashOptions, context: CliContext) -> Story:
    ink, began = _ink(context), context.clock()

    def tell(beat: Beat) -> None:
        if not options.json:
            context.console.stdout.write(drawn.line(beat, began, ink) + "\n")
            context.console.stdout.flush()

    if not options.json:
        context.console.head(TITLE)
        context.console.say(f"{GROUND}\n\n")
    with tempfile.TemporaryDirectory(prefix="hermes-", ignore_cleanup_errors=True) as folder:
        play = Play(scratch(Path(folder), context.environ, context), tell)
        return story_of(await play.acts(), play.beats)


def _show(story: Story, context: CliContext) -> None:
    ink = _ink(context)
    columns = shutil.get_terminal_size((WIDTH, 24)).columns - 1
    lines = ["", *drawn.timeline(story, min(columns, WIDTH_MAX), ink), ""]
    lines += [*drawn.findings(story, ink), "", HELD if story.holds else BROKEN]
    context.console.stdout.write("".join(f"{line}\n" for line in lines))


def _ink(context: CliContext) -> drawn.Ink:
    console = context.console
    return drawn.Ink(colours=console.colours(console.stdout), fancy=is_fancy(console.environ))


COMMAND = CliCommand(
    options=DemoCrashOptions,
    run=run,
    arguments=_arguments,
    more="""examples:
  hermes demo crash
  hermes demo crash --svg crash.svg

A real gateway on a scratch home, with a model that answers by script: no key, no
network, and nothing of yours is read or written. It takes about ten seconds. The exit
status is 0 when the turn was finished as promised.""",
)

"""hermes demo crash: a gateway is killed in mid-command, and the turn finishes all the same."""

import asyncio
import shutil
import tempfile
from pathlib import Path

import msgspec

from hermes.cli import demo_drawn as drawn
from hermes.cli import demo_grammar as grammar
from hermes.cli.demo_picture import picture
from hermes.cli.demo_play import Play, scratch
from hermes.cli.demo_story import Beat, Story, told
from hermes.cli.errors import DONE, FAILED
from hermes.cli.files import saved
from hermes.cli.insights import is_fancy
from hermes.cli.place import Place

WIDTH, WIDTH_MAX = 100, 120
TITLE = "A turn is cut off by SIGKILL in the middle of a command"
GROUND = "A real gateway on a scratch home; the model answers by script: no key, no network."
HELD = "The turn was finished as if nothing had happened."
BROKEN = "A promise was not kept. Please report this, with what is printed above."


def run(given: grammar.Crash, place: Place) -> int:
    story = asyncio.run(_played(given, place))
    if given.svg:
        saved(given.svg, picture(story).encode())
        place.console.tell(f"Written: {given.svg}")
    if given.json:
        place.console.document({**msgspec.to_builtins(story), "holds": story.holds})
    else:
        _show(story, place)
    return DONE if story.holds else FAILED


async def _played(given: grammar.Crash, place: Place) -> Story:
    ink, began = _ink(place), place.clock()

    def tell(beat: Beat) -> None:
        if not given.json:
            place.console.stdout.write(drawn.line(beat, began, ink) + "\n")
            place.console.stdout.flush()

    if not given.json:
        place.console.head(TITLE)
        place.console.say(f"{GROUND}\n\n")
    with tempfile.TemporaryDirectory(prefix="hermes-", ignore_cleanup_errors=True) as folder:
        play = Play(scratch(Path(folder), place.environ, place), tell)
        return told(await play.acts(), play.beats)


def _show(story: Story, place: Place) -> None:
    ink = _ink(place)
    columns = shutil.get_terminal_size((WIDTH, 24)).columns - 1
    lines = ["", *drawn.timeline(story, min(columns, WIDTH_MAX), ink), ""]
    lines += [*drawn.findings(story, ink), "", HELD if story.holds else BROKEN]
    place.console.stdout.write("".join(f"{line}\n" for line in lines))


def _ink(place: Place) -> drawn.Ink:
    console = place.console
    return drawn.Ink(colours=console.colours(console.stdout), fancy=is_fancy(console.environ))

"""hermes policy check: what would be said about a shell command, and why. Nothing is run."""

from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
from msgspec import Struct

from hermes.cli import policy_grammar as grammar
from hermes.cli.errors import DONE, Usage
from hermes.cli.place import Place
from hermes.core.errors import Rejected
from hermes.settings import Settings

LINE_CHARS_MAX = 1_000_000
Judge = Callable[[str], tuple[str, str, str]]  # verdict, effect, why


class Row(Struct):
    """A line of standard input; more keys than these are welcome and ignored."""

    command: str


class Judged(Struct):
    command: str
    verdict: str
    effect: str
    why: str


def run_check(
    given: grammar.Check, place: Place, judge_for: Callable[[Path, Settings, Path], Judge]
) -> int:
    judge = judge_for(place.home, place.settings(), Path.cwd())
    for command in given.commands or _lines(place):
        verdict, effect, why = judge(command)
        if given.json or not given.commands:
            shown = command.encode("utf-8", "replace").decode()
            row = Judged(command=shown, verdict=verdict, effect=effect, why=why)
            place.console.stdout.write(f"{msgspec.json.encode(row).decode()}\n")
        else:
            place.console.say(f"{verdict}  {effect}  {_on_one_line(command)}\n  {why}")
    place.console.stdout.flush()
    return DONE


def _lines(place: Place) -> Iterator[str]:
    """Raises Usage when nobody has given anything, Rejected at a line that is no command."""
    stdin, decoder = place.console.stdin, msgspec.json.Decoder(Row)
    if stdin.isatty():
        raise Usage("say which command, or give JSON lines. See: hermes policy check --help")
    number = 0
    while line := stdin.readline(LINE_CHARS_MAX):
        number += 1
        if not line.strip():
            continue
        try:
            yield decoder.decode(line).command
        except msgspec.MsgspecError as wrong:
            raise Rejected(f'line {number}: give {{"command": "…"}} ({wrong})') from wrong


def _on_one_line(command: str) -> str:
    """As it would be typed, with what does not show made visible."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in command)

"""hermes policy check: print the policy's decision about a shell command, and why. Nothing runs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec
from msgspec import Struct

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.lookup.store import open_existing_store
from hermes.core.errors import Rejected
from hermes.core.grants import CODE
from hermes.lazy import LazyModule
from hermes.settings import Settings

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.app import agent_setup
else:
    agent_setup = LazyModule("hermes.app.agent_setup")

LINE_CHARS_MAX = 1_000_000
Judge = Callable[[str], tuple[str, str, str]]  # verdict, effect, why


class PolicyCheckOptions(JsonOptions):
    commands: list[str]


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "commands", nargs="*", default=[], metavar="COMMAND", help="a shell command, in quotes"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document for each")


class CommandRow(Struct):
    """A line of standard input; other keys are ignored."""

    command: str


class CommandVerdict(Struct):
    command: str
    verdict: str
    effect: str
    why: str


def run(
    options: PolicyCheckOptions,
    context: CliContext,
    judge_for: Callable[[Path, Settings, Path], Judge],
) -> int:
    judge = judge_for(context.home, context.settings(), Path.cwd())
    for command in options.commands or _lines(context):
        verdict, effect, why = judge(command)
        if options.json or not options.commands:
            shown = command.encode("utf-8", "replace").decode()
            row = CommandVerdict(command=shown, verdict=verdict, effect=effect, why=why)
            context.console.stdout.write(f"{msgspec.json.encode(row).decode()}\n")
        else:
            context.console.say(f"{verdict}  {effect}  {_on_one_line(command)}\n  {why}")
    context.console.stdout.flush()
    return DONE


async def _checked(options: PolicyCheckOptions, context: CliContext) -> int:
    folders = await _allowed_folders(context)
    return run(
        options,
        context,
        lambda home, settings, workdir: agent_setup.command_judge(home, settings, workdir, folders),
    )


async def _allowed_folders(context: CliContext) -> frozenset[str]:
    """Return the folders whose code the owner allowed in the closed sandbox."""
    async with open_existing_store(context) as store:
        grants = (await store.trust.register()).grants if store is not None else ()
    now = context.clock()
    return frozenset(
        each.template.workdir
        for each in grants
        if each.template is not None
        and each.template.program == CODE
        and each.profile == "write"
        and each.expires_at > now
    )


def _lines(context: CliContext) -> Iterator[str]:
    """Yield the input's lines. Raise UsageError for an empty input, and Rejected for a wrong
    line."""
    stdin, decoder = context.console.stdin, msgspec.json.Decoder(CommandRow)
    if stdin.isatty():
        raise UsageError("say which command, or give JSON lines. See: hermes policy check --help")
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
    """Return the command on one line, with invisible characters made visible."""
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in command)


COMMAND = CliCommand(
    options=PolicyCheckOptions,
    run=_checked,
    arguments=_arguments,
    more="""examples:
  hermes policy check "ls -la" "rm -r build"
  hermes policy check --json "git push"
  hermes policy check < commands.jsonl          ({"command": …} on each line)

allow: it runs, in the sandbox. ask: you are asked first. deny: it never runs.
What you allowed for a folder counts; other answers of yours do not. The effect
says what happens after a crash: what only reads may simply run again.""",
)

"""The words of `hermes policy …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Check(Shown):
    commands: list[str]


def _check(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "commands", nargs="*", default=[], metavar="COMMAND", help="a shell command, in quotes"
    )
    parser.add_argument("--json", action="store_true", help="print one JSON document for each")


CHECK = Command(
    words=("policy", "check"),
    summary="Judge shell commands, and say why; nothing is run",
    given=Check,
    load=loaders.policy_check,
    arguments=_check,
    more="""examples:
  hermes policy check "ls -la" "rm -r build"
  hermes policy check --json "git push"
  hermes policy check < commands.jsonl          ({"command": …} on each line)

allow: it runs, in the sandbox. ask: you are asked first. deny: it never runs. The
effect says what happens after a crash: what only reads may simply run again.""",
)

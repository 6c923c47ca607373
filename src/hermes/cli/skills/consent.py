"""The owner's consent to a skill: to its digest, at a prompt or given beforehand."""

from typing import TYPE_CHECKING

from hermes.cli.command import JsonOptions
from hermes.cli.errors import UsageError
from hermes.cli.options import json_option
from hermes.cli.output.console import Console
from hermes.core.errors import Rejected
from hermes.ports.skills import Candidate

if TYPE_CHECKING:
    from argparse import ArgumentParser


class ConsentOptions(JsonOptions):
    yes: bool
    sha256: str


def consent_arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask; see --sha256")
    parser.add_argument("--sha256", default="", help="the digest that you have looked at")
    json_option(parser)


def consented(console: Console, candidate: Candidate, options: ConsentOptions) -> bool:
    """Return True if the owner agrees. Raise UsageError without a terminal, and Rejected for
    consent to another digest."""
    if options.sha256 and options.sha256.lower() != candidate.digest:
        raise Rejected(
            f"these are not the bytes that you approved: {candidate.digest}. Nothing was installed"
        )
    if options.yes and options.sha256:
        return True
    how = f"--yes --sha256 {candidate.digest}"
    if options.yes:
        raise UsageError(f"you approve exact bytes. After you have looked at them, run: {how}")
    if options.json or not console.stdin.isatty():
        raise UsageError(f"there is no terminal to ask. After you have looked at it, run: {how}")
    grave = sum(finding.grave for finding in candidate.findings)
    question = f"Use {candidate.name} with these bytes"
    if grave:
        question += f", in spite of {grave} finding{'s' * (grave > 1)} marked !"
    console.stderr.write(f"{question}? [y/N] ")
    console.stderr.flush()
    return console.stdin.readline().strip().lower() in ("y", "yes")

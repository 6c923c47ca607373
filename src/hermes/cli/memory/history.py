"""hermes memory history: list every change, the latest first."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.memory.entries import describe_change, entry_document, target_named
from hermes.cli.memory.opening import with_memories
from hermes.cli.options import json_option, limit_option
from hermes.cli.output.times import ago, iso
from hermes.ports.memory import (
    TARGETS,
    Memories,
    MemoryVersion,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser


NO_CHANGES = "Nothing has been changed yet"


class MemoryHistoryOptions(JsonOptions):
    target: str | None
    limit: int


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("--target", choices=TARGETS, help="only changes of this file")
    limit_option(parser, "versions")
    json_option(parser)


def run(options: MemoryHistoryOptions, context: CliContext, memories: Memories) -> int:
    target = target_named(options.target) if options.target is not None else None
    versions = memories.versions(limit=options.limit, target=target)
    if options.json:
        context.console.document([version_document(version) for version in versions])
    elif not versions:
        context.console.tell(NO_CHANGES)
    else:
        now = context.clock()
        rows = [
            (str(v.number), ago(v.at, now), v.target, v.by.author, _why(v), describe_change(v))
            for v in versions
        ]
        context.console.table(("VERSION", "WHEN", "FILE", "BY", "WHY", "CHANGE"), rows)
    return DONE


def _why(version: MemoryVersion) -> str:
    return f"undo {version.undoes}" if version.undoes else version.why


def version_document(version: MemoryVersion) -> Mapping[str, object]:
    return {
        "version": version.number,
        "at": iso(version.at),
        "target": version.target,
        "why": version.why,
        "author": version.by.author,
        "turn": version.by.turn or None,
        "undoes": version.undoes or None,
        "proposal": version.proposal or None,
        "removed": [entry_document(entry) for entry in version.removed],
        "added": [entry_document(entry) for entry in version.added],
    }


COMMAND = CliCommand(
    options=MemoryHistoryOptions,
    run=with_memories(run),
    arguments=_arguments,
)

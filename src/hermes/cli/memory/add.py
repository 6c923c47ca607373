"""hermes memory add: add a fact."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.memory.entries import apply_change, target_named
from hermes.cli.memory.opening import with_memories
from hermes.ports.memory import (
    TARGETS,
    Memories,
    MemoryChange,
    MemoryClaim,
)

if TYPE_CHECKING:
    from argparse import ArgumentParser


class MemoryAddOptions:
    text: list[str]
    target: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument("text", nargs="+", metavar="TEXT", help="one fact, in a sentence or two")
    parser.add_argument("--target", choices=TARGETS, default="memory", help="default: memory")


def run(options: MemoryAddOptions, context: CliContext, memories: Memories) -> int:
    target = target_named(options.target)
    return apply_change(
        context,
        memories,
        MemoryChange(action="add", target=target, new=(MemoryClaim(" ".join(options.text)),)),
    )


COMMAND = CliCommand(
    options=MemoryAddOptions,
    run=with_memories(run),
    arguments=_arguments,
    more="""examples:
  hermes memory add "The staging server is called omega."
  hermes memory add --target user "Prefers short answers."

You can also edit the files themselves at any time: see hermes memory show.""",
)

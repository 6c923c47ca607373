"""Open the memory of this home for the memory commands."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from hermes.cli.context import CliContext
from hermes.lazy import LazyModule
from hermes.ports.memory import Memories

if TYPE_CHECKING:
    from hermes.app import agent_setup
else:
    agent_setup = LazyModule("hermes.app.agent_setup")

OptionsT = TypeVar("OptionsT")


def with_memories(
    run: Callable[[OptionsT, CliContext, Memories], int],
) -> Callable[[OptionsT, CliContext], int]:
    """Open the memory of the context's home, and run the command on it."""
    return lambda options, context: run(
        options, context, agent_setup.memories_of(context.home, context.settings())
    )

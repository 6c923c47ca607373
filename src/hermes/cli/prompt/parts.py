"""The system prompt of a new conversation, for the commands that show or count it."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from hermes.agent.prompt import Overhead
from hermes.cli.context import CliContext
from hermes.lazy import LazyModule
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.app import agent_setup
else:
    agent_setup = LazyModule("hermes.app.agent_setup")

OptionsT = TypeVar("OptionsT")
Compose = Callable[[Path, Settings, Path, str], Awaitable[Overhead]]  # home, …, folder, platform


def with_prompt_parts(
    run: Callable[[OptionsT, CliContext, Compose], int],
) -> Callable[[OptionsT, CliContext], int]:
    """Run the command with the composer of this home's prompt."""
    return lambda options, context: run(options, context, agent_setup.prompt_parts)

"""Open the skills of this home for the skills commands."""

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from hermes.cli.context import CliContext
from hermes.lazy import LazyModule
from hermes.ports.skills import Skills

if TYPE_CHECKING:
    from hermes.app import agent_setup
else:
    agent_setup = LazyModule("hermes.app.agent_setup")

OptionsT = TypeVar("OptionsT")


def with_skills(
    run: Callable[[OptionsT, CliContext, Skills], int],
) -> Callable[[OptionsT, CliContext], int]:
    """Open the skills of the context's home, and run the command on them."""
    return lambda options, context: run(
        options,
        context,
        agent_setup.skill_library(context.home, context.settings(), context.environ),
    )

"""hermes tools enable: turn tools on."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.prompt.parts import Compose, with_prompt_parts
from hermes.cli.tools.switching import ToolsSwitchOptions, switch_arguments, switch_tools


def run(options: ToolsSwitchOptions, context: CliContext, compose_for: Compose) -> int:
    return switch_tools(options, context, compose_for, on=True)


COMMAND = CliCommand(
    options=ToolsSwitchOptions,
    run=with_prompt_parts(run),
    arguments=switch_arguments,
    more="""A gateway that runs offers them after: hermes gateway restart""",
)

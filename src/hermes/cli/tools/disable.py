"""hermes tools disable: turn tools off, everywhere or on one platform."""

from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.prompt.parts import Compose, with_prompt_parts
from hermes.cli.tools.switching import ToolsSwitchOptions, switch_arguments, switch_tools


def run(options: ToolsSwitchOptions, context: CliContext, compose_for: Compose) -> int:
    return switch_tools(options, context, compose_for, on=False)


COMMAND = CliCommand(
    options=ToolsSwitchOptions,
    run=with_prompt_parts(run),
    arguments=switch_arguments,
    more="""examples:
  hermes tools disable terminal --platform telegram
  hermes tools disable web todo

It counts at once, also in a gateway that runs: a new conversation is
not told of the tool, and one that has begun gets an error instead.
“hermes tools enable” counts when the gateway starts again.""",
)

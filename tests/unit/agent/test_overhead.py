"""What every request costs before anybody has said a word."""

from hermes.agent.prompt import system_prompt
from hermes.core.budget import tokens_of
from hermes.core.terminal import Terminal
from hermes.tools.defaults import default_tools

OVERHEAD_TOKENS_MAX = 4_000


class NoTerminal(Terminal):
    """Never used: only the tools' schemas are read."""


def test_the_fixed_overhead_with_default_tools_is_within_its_budget() -> None:
    tools = default_tools(NoTerminal(), workdir="/", home="/")
    told = sum(
        tokens_of(tool.spec.name + tool.spec.description + tool.spec.parameters) for tool in tools
    )
    assert told + tokens_of(system_prompt("")) <= OVERHEAD_TOKENS_MAX


def test_the_prompt_is_the_same_bytes_every_time() -> None:
    assert system_prompt("") == system_prompt(" \n")
    assert system_prompt("You are Ada.\n\n") == "You are Ada.\n"

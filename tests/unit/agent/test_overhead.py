"""What every request costs before anybody has said a word."""

import pytest

from hermes.agent.prompt import Sources, compose, parts_of
from hermes.channels.api.manifest import MANIFEST as API
from hermes.channels.local.manifest import OWN as LOCAL
from hermes.channels.telegram.manifest import HINTS as TELEGRAM
from hermes.channels.webhook.manifest import MANIFEST as WEBHOOK
from hermes.context.place import place, this_machine
from hermes.core.budget import tokens_of
from hermes.ports.terminal import Terminal
from hermes.terminals.workspace import LocalWorkspace
from hermes.tools.defaults import default_tools

OVERHEAD_TOKENS_MAX = 4_000
OURS_TOKENS_MAX = 780  # without memory, skills and files: room for those, and for more tools


class NoTerminal(Terminal):
    """Never used: only the tools' schemas are read."""


def prompt(hints: str) -> str:
    here = place(0.0, "/srv/a/folder/with/a/rather/long/name", this_machine())
    return compose(parts_of(Sources(hints=hints, conversation=here.text)))


@pytest.mark.parametrize("hints", [API.hints, LOCAL.hints, TELEGRAM, WEBHOOK.hints])
def test_our_own_words_are_few(hints: str) -> None:
    assert hints
    assert tokens_of(prompt(hints)) <= OURS_TOKENS_MAX


def test_the_fixed_overhead_with_default_tools_is_within_its_budget() -> None:
    tools = default_tools(LocalWorkspace(NoTerminal(), workdir="/", home="/"))
    told = {
        tool.spec.name: tokens_of(tool.spec.name + tool.spec.description + tool.spec.parameters)
        for tool in tools
    }
    system = tokens_of(prompt(TELEGRAM))
    counts = f"system prompt: {system}, tools: {sum(told.values())} {told}"
    assert system + sum(told.values()) <= OVERHEAD_TOKENS_MAX, counts

"""What was said beforehand, by options and on standard input, about channels and the service."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from hermes.cli.config.check import malformed
from hermes.cli.context import CliContext
from hermes.cli.errors import UsageError
from hermes.cli.gateway.channel_options import ChannelsOptions, flag, offered

_ID = re.compile(r"[1-9]\d{0,18}")
Answer = str | int | list[int]


@dataclass(frozen=True, kw_only=True)
class SetupAnswers:
    """`on`: which channels are wanted; `given`: by channel, and by the key of its question. What
    is not there is asked; in silence it takes its default."""

    on: Mapping[str, bool] = field(default_factory=dict)
    given: Mapping[tuple[str, str], Answer] = field(default_factory=dict, repr=False)
    service: bool | None = None

    @property
    def some(self) -> bool:
        return self != SetupAnswers()


def answers_of(options: ChannelsOptions, context: CliContext) -> SetupAnswers:
    """From the options; secrets are read here, in the order of the channels. Raises UsageError."""
    said = options.channels
    on = {name: word == "on" for (name, key), word in said.items() if not key}
    asked = [(plugin, question) for plugin, _ in offered() for question in plugin.questions]
    asked = [(plugin, each) for plugin, each in asked if (plugin.name, each.key) in said]
    given: dict[tuple[str, str], Answer] = {}
    for plugin, question in sorted(asked, key=lambda pair: pair[1].secret):
        place, option = (plugin.name, question.key), flag(plugin, question)
        if question.secret:
            given[place] = secret = context.console.stdin.readline().strip()
            if not secret or malformed(question, secret):
                form = f"no line of standard input has the form of a {question.noun or 'secret'}"
                raise UsageError(f"{option}: {form}")
            on.setdefault(plugin.name, True)
        elif question.kind == "ids":
            people = re.split(r"[\s,;]+", word) if (word := str(said[place])) else []
            if not all(map(_ID.fullmatch, people)):
                raise UsageError(f"{option} takes numeric ids: 12345678,23456789")
            if people:
                given[place] = list(map(int, people))
        else:
            given[place] = said[place]
    service = {None: None, "install": True, "none": False}[options.service]
    return SetupAnswers(on=on, given=given, service=service)

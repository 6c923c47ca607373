"""What `hermes setup` and `hermes gateway setup` ask about channels and the service.

Which channels there are, and what each asks, stands in its own `plugin.py`."""

from typing import TYPE_CHECKING, Any

from hermes.app.platforms import ChannelPlugin, SetupOffer, SetupQuestion, plugins
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import argparse
    from argparse import ArgumentParser
else:
    argparse = LazyModule("argparse")

ON_OFF = ("on", "off")
METAVARS = {"text": "TEXT", "port": "N", "ids": "IDS"}


class ChannelsOptions:
    service: str | None
    yes: bool

    def __init__(self) -> None:
        # By channel and by the key of its question; the key of a channel's own switch is empty.
        self.channels: dict[tuple[str, str], str | int | bool] = {}


def offered() -> list[tuple[ChannelPlugin, SetupOffer]]:
    """The channels that a set-up asks about."""
    return [(plugin, plugin.offer) for plugin in plugins() if plugin.offer is not None]


def flag(plugin: ChannelPlugin, question: SetupQuestion) -> str:
    words = ["", "", plugin.name, question.option, *(["stdin"] if question.secret else [])]
    return "-".join(words).replace("_", "-")


def channel_options(parser: "ArgumentParser") -> None:
    for plugin, offer in offered():
        name = plugin.name
        switch = f"--{name}".replace("_", "-")
        parser.add_argument(switch, choices=ON_OFF, help=offer.help, **_kept(name, ""))
        for question in plugin.questions:
            if not question.option:
                continue
            takes: dict[str, Any] = {"nargs": 0, "const": True}
            if not question.secret:
                takes = {"metavar": METAVARS[question.kind]}
                takes["type"] = int if question.kind == "port" else str
            kept = _kept(name, question.key)
            parser.add_argument(flag(plugin, question), help=question.help, **takes, **kept)
    parser.add_argument(
        "--service",
        choices=("install", "none"),
        help="install the gateway as a systemd or launchd service",
    )
    parser.add_argument(
        "-y", "--yes", action="store_true", help="use the defaults for everything else"
    )


def _kept(channel: str, key: str) -> dict[str, Any]:
    """So that an answer is kept by the name of its channel, which no class of ours knows."""

    class Keep(argparse.Action):
        def __call__(
            self, _parser: object, options: object, value: Any, _flag: object = None
        ) -> None:
            assert isinstance(options, ChannelsOptions), "only such a command has this option"
            options.channels[channel, key] = self.const or value

    return {"action": Keep, "default": argparse.SUPPRESS}

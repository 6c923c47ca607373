"""What `hermes setup` and `hermes gateway setup` ask about channels and the service."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser

ON_OFF = ("on", "off")


class Channels:
    api: str | None
    api_port: int | None
    telegram: str | None
    telegram_token_stdin: bool
    telegram_allow: str | None
    service: str | None
    yes: bool


def channel_options(parser: "ArgumentParser") -> None:
    parser.add_argument("--api", choices=ON_OFF, help="HTTP as OpenAI's clients speak it")
    parser.add_argument("--api-port", type=int, metavar="N", help="where it listens")
    parser.add_argument("--telegram", choices=ON_OFF, help="a Telegram bot")
    parser.add_argument(
        "--telegram-token-stdin",
        action="store_true",
        help="its token is a line of standard input, behind that of --key-stdin",
    )
    parser.add_argument("--telegram-allow", metavar="IDS", help="who may write to it: 123,456")
    parser.add_argument(
        "--service", choices=("install", "none"), help="have systemd or launchd keep the gateway"
    )
    parser.add_argument(
        "-y", "--yes", action="store_true", help="the defaults for what is not said"
    )

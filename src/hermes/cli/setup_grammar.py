"""The words of `hermes setup` and `hermes gateway setup`: every answer is also an option."""

from typing import TYPE_CHECKING

from hermes.cli.command import Command
from hermes.cli.model_grammar import Choose, model_options

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Channels:
    """What both ask about channels and the service."""

    api: str | None
    api_port: int | None
    telegram: str | None
    telegram_token_stdin: bool
    telegram_allow: str | None
    service: str | None
    yes: bool


class Setup(Channels, Choose):
    skip_model: bool
    workdir: str | None
    sandbox: str | None


ON_OFF = ("on", "off")


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


def _setup(parser: "ArgumentParser") -> None:
    model_options(parser)
    parser.add_argument("--skip-model", action="store_true", help="leave the model as it is")
    parser.add_argument("--workdir", metavar="FOLDER", help="where commands run")
    parser.add_argument("--sandbox", choices=("auto", "none"), help="around commands")
    channel_options(parser)


SETUP = Command(
    words=("setup",),
    summary="Set everything up, step by step",
    given=Setup,
    arguments=_setup,
    more="""examples:
  hermes setup                                        asks; what is set is the default
  hermes setup --yes                                  the defaults, with the built-in model
  hermes setup --yes --provider openrouter --model NAME --key-stdin --telegram on \\
      --telegram-token-stdin --telegram-allow 12345678 --service install < secrets.txt

It can be run again at any time.""",
)

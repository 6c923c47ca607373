"""The words of `hermes setup`: every answer is also an option."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.channels_grammar import Channels, channel_options
from hermes.cli.command import Command
from hermes.cli.model_grammar import Choose, model_options

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Setup(Channels, Choose):
    skip_model: bool
    workdir: str | None
    sandbox: str | None


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
    load=loaders.setup,
    arguments=_setup,
    more="""examples:
  hermes setup                                        asks; what is set is the default
  hermes setup --yes                                  the defaults, with the built-in model
  hermes setup --yes --provider openrouter --model NAME --key-stdin --telegram on \\
      --telegram-token-stdin --telegram-allow 12345678 --service install < secrets.txt

It can be run again at any time.""",
)

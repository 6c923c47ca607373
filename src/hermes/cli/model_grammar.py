"""The words of `hermes model …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Choose:
    provider: str | None
    model: str | None
    base_url: str | None
    key: str | None
    key_stdin: bool
    no_test: bool
    yes: bool


class List(Shown):
    provider: str | None


def model_options(parser: "ArgumentParser") -> None:
    """Also those of `hermes setup`."""
    parser.add_argument("--provider", metavar="NAME", help="who serves it: openrouter, custom, …")
    parser.add_argument("--model", metavar="NAME", help="the model's name there")
    parser.add_argument("--base-url", metavar="URL", help="where to ask: http://127.0.0.1:9901/v1")
    parser.add_argument("--key", metavar="KEY", help="others may see it; better: --key-stdin")
    parser.add_argument(
        "--key-stdin", action="store_true", help="the key is the first line of standard input"
    )
    parser.add_argument("--no-test", action="store_true", help="ask nothing before it is kept")


def _choose(parser: "ArgumentParser") -> None:
    model_options(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="install what is missing, unasked")


def _list(parser: "ArgumentParser") -> None:
    parser.add_argument("--provider", metavar="NAME", help="of this one instead of the chosen one")
    json_option(parser)


CHOOSE = Command(
    words=("model", "choose"),
    summary="Choose who answers, and try it before it is kept",
    given=Choose,
    load=loaders.model_choose,
    arguments=_choose,
    more="""examples:
  hermes model                                        asks
  hermes model --provider openrouter --model NAME --key-stdin < key.txt
  hermes model --provider custom --base-url http://127.0.0.1:9901/v1 --model NAME
  hermes model --provider local                       built in, needs no key

The key goes into .env, which only you can read. Nothing is written unless the
model has answered; --no-test keeps it anyway.""",
)
LIST = Command(
    words=("model", "list"),
    summary="List the models that a provider offers, by its own word",
    given=List,
    load=loaders.model_list,
    arguments=_list,
)
SHOW = Command(
    words=("model", "show"),
    summary="Show who answers now",
    given=Shown,
    load=loaders.model_show,
    arguments=json_option,
)
PROVIDERS = Command(
    words=("model", "providers"),
    summary="List the providers that are known by name",
    given=Shown,
    load=loaders.model_providers,
    arguments=json_option,
)
MODEL = (CHOOSE, LIST, SHOW, PROVIDERS)

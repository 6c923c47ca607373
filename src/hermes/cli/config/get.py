"""hermes config get: print one setting."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.config.tree import leaves, settings_tree, unknown_setting, value_text
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED
from hermes.cli.options import json_option
from hermes.settings.check import type_at

if TYPE_CHECKING:
    from argparse import ArgumentParser


class ConfigGetOptions(JsonOptions):
    key: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "key", metavar="KEY", help="for example gateway.busy, or a section: gateway"
    )
    json_option(parser)


def run(options: ConfigGetOptions, context: CliContext) -> int:
    path = tuple(options.key.split("."))
    node: object = settings_tree(context.settings())
    for name in path:
        if not isinstance(node, Mapping) or name not in node:
            return _absent(context, path)
        node = node[name]
    if options.json:
        context.console.document(node)
    elif isinstance(node, Mapping) and node:
        for below, value in leaves(node, path):
            context.console.say(f"{'.'.join(below)} {value_text(value)}".rstrip())
    else:
        context.console.say(value_text(node))
    return DONE


def _absent(context: CliContext, path: tuple[str, ...]) -> int:
    if type_at(path) is None:
        raise unknown_setting(path)
    context.console.tell(f"{'.'.join(path)} is not set")
    return FAILED


COMMAND = CliCommand(
    options=ConfigGetOptions,
    run=run,
    arguments=_arguments,
)

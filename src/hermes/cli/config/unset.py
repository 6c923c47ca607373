"""hermes config unset: reset a setting to its default, or remove a secret from .env."""

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.cli.command import CliCommand
from hermes.cli.config.file import save_setting, without_secret
from hermes.cli.config.set import record
from hermes.cli.config.tree import unknown_setting
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE
from hermes.cli.output.files import saved
from hermes.settings import survey
from hermes.settings.check import type_at
from hermes.settings.home import CONFIG, SECRETS
from hermes.settings.sources import PREFIX, read_config, read_text

if TYPE_CHECKING:
    from argparse import ArgumentParser


_NAME = re.compile(r"[A-Z][A-Z0-9_]*")


class ConfigUnsetOptions:
    key: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "key", metavar="KEY", help="for example gateway.busy, or NAME of a secret in .env"
    )


def run(options: ConfigUnsetOptions, context: CliContext) -> int:
    """Remove a key. Raise UsageError for a key that is neither known nor set, and Misconfigured for
    a file that cannot be read."""
    if _NAME.fullmatch(options.key):
        removed = _forget(context, options.key)
    else:
        path = tuple(options.key.split("."))
        removed = _take_out(context, path) + _forget(context, PREFIX + "__".join(path).upper())
        if not removed and type_at(path) is None:
            raise unknown_setting(path)
    if not removed:
        context.console.say(f"{options.key} is not set")
        return DONE
    record(context)
    for file in removed:
        context.console.say(f"{options.key} was removed from {file}")
    _tell_the_rest(context, options.key)
    return DONE


def _take_out(context: CliContext, path: tuple[str, ...]) -> list[str]:
    file = context.home / CONFIG
    node: object = read_config(file) if file.exists() else {}
    for name in path:
        if not isinstance(node, Mapping) or name not in node:
            return []
        node = node[name]
    save_setting(file, path, None)
    return [str(file)]


def _forget(context: CliContext, name: str) -> list[str]:
    file = context.home / SECRETS
    text = read_text(file)
    rest = without_secret(text, name)
    if rest.splitlines() == text.splitlines():
        return []
    saved(file, rest.encode())
    return [str(file)]


def _tell_the_rest(context: CliContext, key: str) -> None:
    """Tell which variables still override the file, and what is wrong in it now."""
    variable = PREFIX + key.replace(".", "__").upper()
    for name in (key, variable):
        if name in context.environ:
            context.console.tell(f"{name} is still set in this environment")
    _settings, problems = survey(context.home, context.environ)
    for problem in problems:
        context.console.tell(f"hermes: {problem}")


COMMAND = CliCommand(
    options=ConfigUnsetOptions,
    run=run,
    arguments=_arguments,
)

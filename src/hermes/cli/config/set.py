"""hermes config set: check one value, then write it; secrets go into .env."""

import asyncio
import getpass
import re
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from hermes.app.platforms import secret_at
from hermes.cli.command import CliCommand
from hermes.cli.config.check import check_platform_secret, check_secret, check_value, demand
from hermes.cli.config.file import save_secret, save_setting
from hermes.cli.config.tree import unknown_setting
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.core.errors import Misconfigured, StoreFailed
from hermes.lazy import LazyModule
from hermes.settings import prepare, survey
from hermes.settings.check import type_at
from hermes.settings.home import CONFIG, DATABASE, SECRETS
from hermes.settings.shape import Section, is_secret
from hermes.settings.sources import PREFIX, value_at

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.app import application as app
else:
    app = LazyModule("hermes.app.application")


_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_PLAIN = re.compile(r"[a-z0-9_]+(\.[a-z0-9_]+)*")


class ConfigSetOptions:
    key: str
    value: str


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "key", metavar="KEY", help="for example gateway.busy, or NAME of a secret in .env"
    )
    parser.add_argument("value", metavar="VALUE", help="“-” asks for it without showing it")


def run(options: ConfigSetOptions, context: CliContext) -> int:
    return assign(context, options.key, options.value)


def assign(context: CliContext, key: str, value: str) -> int:
    """Set one value. “-” asks for it without showing it. Raise UsageError or Misconfigured."""
    if _NAME.fullmatch(key):
        secret = _value(context, key, value, hide=True)
        check_secret(context, key, secret)
        return keep_secret(context, key, secret)
    path = tuple(key.split("."))
    type_ = type_at(path)
    if type_ is None or not all(path):
        raise unknown_setting(path)
    if (isinstance(type_, type) and issubclass(type_, Section)) or key == "platforms":
        raise UsageError(
            f"{key} is a whole section. Set one of its keys, or run: hermes config edit"
        )
    text = _value(context, key, value, hide=is_secret(path))
    if is_secret(path):
        demand(key, text)
    parsed = _fitting(context, path, text)
    if (found := secret_at(path)) is not None:
        check_platform_secret(context, *found, text)
    if is_secret(path[-1:]) and isinstance(parsed, str) and _PLAIN.fullmatch(key):
        return _keep_apart(context, path, parsed)
    prepare(context.home)
    save_setting(context.home / CONFIG, path, parsed)
    record(context)
    _report(context, key, context.home / CONFIG)
    _warn_when_overridden(context, path)
    return DONE


def _fitting(context: CliContext, path: tuple[str, ...], text: str) -> object:
    """Return the parsed value. A platform's text that looks like another type, as {body} does,
    stays text."""
    parsed = value_at(path, text)
    try:
        check_value(context, path, parsed)
    except Misconfigured:
        if path[0] == "platforms" and not isinstance(parsed, str):
            with suppress(Misconfigured):
                check_value(context, path, text)
                return text
        raise
    return parsed


def _keep_apart(context: CliContext, path: tuple[str, ...], value: str) -> int:
    """Store a secret of config.yaml in .env instead, under its variable name."""
    file = context.home / CONFIG
    if file.exists():
        save_setting(file, path, None)
    return keep_secret(context, PREFIX + "__".join(path).upper(), value)


def keep_secret(context: CliContext, name: str, value: str) -> int:
    """Store a checked secret in .env."""
    prepare(context.home)
    save_secret(context.home / SECRETS, name, value)
    record(context)
    _report(context, name, context.home / SECRETS)
    if name in context.environ:
        context.console.tell(f"{name} is also set in this environment, which overrides it")
    return DONE


def record(context: CliContext) -> None:
    """Record the change in the audit log, if there is one; else the next start records it."""
    settings, problems = survey(context.home, context.environ)
    if problems or (settings.store.url == "sqlite" and not (context.home / DATABASE).exists()):
        return

    async def note() -> None:
        async with app.store_only(context.home, settings) as store:
            await app.note_settings(store, context.home, settings, by="hermes config set")

    try:
        asyncio.run(note())
    except StoreFailed as failed:
        context.console.tell(
            f"The audit log could not be written; the next start records the change: {failed}"
        )


def _value(context: CliContext, key: str, value: str, *, hide: bool) -> str:
    if value != "-":
        return value
    stdin = context.console.stdin
    if not stdin.isatty():
        line = stdin.readline()
        if not line:
            problem = "standard input is empty, so nothing was changed"
            raise Misconfigured(key, problem, f"Run: printf %s VALUE | hermes config set {key} -")
        return line.rstrip("\r\n")
    if hide:
        return getpass.getpass(f"{key}: ")
    context.console.stderr.write(f"{key}: ")
    context.console.stderr.flush()
    return stdin.readline().rstrip("\n")


def _warn_when_overridden(context: CliContext, path: tuple[str, ...]) -> None:
    settings, _problems = survey(context.home, context.environ)
    variable = PREFIX + "__".join(path).upper()
    if variable in settings.secrets:
        context.console.tell(f"{variable} is also set and overrides it")


def _report(context: CliContext, key: str, file: Path) -> None:
    context.console.say(f"{key} is set in {file}")


COMMAND = CliCommand(
    options=ConfigSetOptions,
    run=run,
    arguments=_arguments,
    more="""examples:
  hermes config set gateway.busy steer
  hermes config set model.name some-model
  hermes config set OPENROUTER_API_KEY -        (asks; goes into .env)

Settings go into config.yaml, secrets into .env, which only you can read.""",
)

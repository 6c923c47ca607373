"""hermes uninstall: remove Hermes from this computer and keep the conversations.

It removes only what Hermes itself made: the service, a link on the PATH that leads here, the
environment with our stamp in it and, with --purge, the files of the home that are ours by name.
"""

import os
import shutil
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes.app.platforms import backup_folders
from hermes.cli.command import CliCommand
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED, UsageError
from hermes.cli.gateway.service.installing import uninstall as remove_service
from hermes.cli.gateway.service.lock import running
from hermes.cli.gateway.service.service import ServiceContext
from hermes.cli.gateway.service.supervisor import supervisors
from hermes.cli.gateway.stop import stop
from hermes.core.errors import Misconfigured
from hermes.installed import STAMP, checkout
from hermes.lazy import LazyModule
from hermes.settings import survey
from hermes.settings.home import CONFIG, DATABASE, FOLDERS, SECRETS

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.app import models
else:
    models = LazyModule("hermes.app.models")


LINK = Path(".local") / "bin" / "hermes"
MADE = (
    *(CONFIG, SECRETS, DATABASE, f"{DATABASE}-wal", f"{DATABASE}-shm", "SOUL.md", "BOOT.md"),
    *(*FOLDERS, "media", "nodes", "replaced", "workspace", *backup_folders()),
    *("audit.key", "audit.settings", "audit.heads", "gateway.lock", "gateway.sock", "history"),
)
PIP = "pip uninstall hermes-durable"


class UninstallOptions:
    purge: bool
    yes: bool


def _arguments(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--purge", action="store_true", help="also delete the home: conversations, settings, memory"
    )
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask first")


class Removal(Struct, frozen=True, kw_only=True):
    """What there is to remove."""

    services: tuple[Path, ...] = ()
    runs: bool = False
    link: Path | None = None
    environments: tuple[Path, ...] = ()
    home: tuple[Path, ...] = ()  # what is ours in it; empty: it stays

    @property
    def is_empty(self) -> bool:
        return not (self.services or self.runs or self.link or self.environments or self.home)


def run(options: UninstallOptions, context: CliContext) -> int:
    root = checkout()
    removal = planned(context, root, purge=options.purge)
    _tell_plan(context, removal, root, purge=options.purge)
    if removal.is_empty:
        return DONE
    if not options.yes and not _ask(context):
        context.console.tell("Nothing was removed")
        return FAILED
    return _removed(context, removal)


def planned(context: CliContext, root: Path | None, *, purge: bool) -> Removal:
    units = [each.file for each in supervisors(context.home, context.environ, sys.platform)]
    link = Path(context.environ.get("HOME") or Path.home()) / LINK
    return Removal(
        services=tuple(file for file in units if file.is_file()),
        runs=running(context.home) is not None,
        link=link if root is not None and _leads_to(link, root) else None,
        environments=tuple(_environments(root)),
        home=tuple(_of_home(context.home)) if purge else (),
    )


def _leads_to(link: Path, root: Path) -> bool:
    """Return True for our link: to the program of this checkout, or into its environment."""
    if not link.is_symlink():
        return False
    target = Path(os.path.realpath(link))
    return target.is_relative_to(root.resolve())


def _environments(root: Path | None) -> Iterator[Path]:
    """Yield the environments that our installer made for this checkout, found by their stamp."""
    if root is None:
        return
    for folder in dict.fromkeys((root / ".venv", Path(sys.prefix))):
        try:
            stamp = (folder / STAMP).read_text(encoding="utf-8").splitlines()
        except OSError:
            continue
        if f"root {root}" in stamp:
            yield folder


def _of_home(home: Path) -> Iterator[Path]:
    """Yield our files by name, and only in a folder that has our database or settings."""
    if not ((home / DATABASE).is_file() or (home / CONFIG).is_file()):
        return
    for name in MADE:
        if (home / name).exists() or (home / name).is_symlink():
            yield home / name


def _tell_plan(context: CliContext, removal: Removal, root: Path | None, *, purge: bool) -> None:
    say = context.console.say
    if removal.is_empty:
        say("There is nothing to remove.")
    else:
        say("This is removed:")
    for line in _lines(removal):
        say(f"  {line}")
    say("This stays:")
    if not removal.home:
        why = "it has nothing of ours" if purge else "your conversations; --purge removes it, too"
        say(f"  {context.home} ({why})")
    weights = _weights(context)
    if weights is not None:
        say(f"  {weights} (weights of built-in models; delete it to free its space)")
    say(f"  {root} (the checkout itself)" if root is not None else f"  the package: {PIP}")


def _weights(context: CliContext) -> Path | None:
    """Return the folder of weights, which all homes of a person share, if there is one."""
    settings, _problems = survey(context.home, context.environ)
    try:
        folder = models.weights_of(settings).path
    except Misconfigured:
        return None
    return folder if folder.is_dir() else None


def _lines(removal: Removal) -> Iterator[str]:
    yield from (f"the service {file}" for file in removal.services)
    if removal.runs:
        yield "the gateway that runs is stopped, after its running turns"
    if removal.link is not None:
        yield f"the link {removal.link}"
    yield from (f"the environment {folder}" for folder in removal.environments)
    yield from (f"{path}" for path in removal.home)


def _ask(context: CliContext) -> bool:
    if not context.console.stdin.isatty():
        raise UsageError("there is no terminal to ask. Add --yes to remove it without a question")
    context.console.stderr.write("Remove it? [y/N] ")
    context.console.stderr.flush()
    return context.console.stdin.readline().strip().lower() in ("y", "yes")


def _removed(context: CliContext, removal: Removal) -> int:
    """Remove everything, the environment last, because this program runs in it."""
    ground = ServiceContext(context=context)
    if removal.services and (status := remove_service(ground)) != DONE:
        return status
    if running(context.home) is not None and (status := stop(ground, force=False)) != DONE:
        return status
    if removal.link is not None:
        removal.link.unlink(missing_ok=True)
        context.console.say(f"{removal.link} is removed")
    _remove_all(context, removal.home)
    if removal.home and context.home.is_dir():
        _end_home(context)
    context.console.say("Hermes is removed.")
    for environment in removal.environments:
        shutil.rmtree(environment, ignore_errors=True)
    return DONE


def _remove_all(context: CliContext, paths: Sequence[Path]) -> None:
    for path in paths:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)
        context.console.say(f"{path} is removed")


def _end_home(context: CliContext) -> None:
    """Remove the home if it is empty; other files in it stay."""
    if left := sorted(each.name for each in context.home.iterdir()):
        context.console.tell(f"{context.home} is kept: it has {', '.join(left[:10])}")
    else:
        context.home.rmdir()


COMMAND = CliCommand(
    options=UninstallOptions,
    run=run,
    arguments=_arguments,
    more="It says what it would remove, and asks. The home stays, unless --purge is given.",
)

"""Shared by the pairing commands: find a person, and describe one for programs."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import TYPE_CHECKING

from hermes.cli.command import JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, UsageError
from hermes.cli.output.times import iso
from hermes.core.people import Role
from hermes.core.store import Store
from hermes.core.trust import KnownPerson
from hermes.lazy import LazyModule
from hermes.settings import Settings, prepare

if TYPE_CHECKING:
    from argparse import ArgumentParser

    from hermes.app import application as app
else:
    app = LazyModule("hermes.app.application")


ROLES = {"paired": Role.PAIRED, "owner": Role.OWNER}


def role_argument(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--role",
        choices=("paired", "owner"),
        default="paired",
        help="paired: may talk and use harmless tools; owner: has the same rights as you",
    )


def open_new_store(context: CliContext) -> AbstractAsyncContextManager[Store]:
    prepare(context.home)
    return app.store_only(context.home, context.settings())


def parse_person(text: str) -> tuple[str, str]:
    platform, colon, id_ = text.partition(":")
    if not (platform and colon and id_.strip()):
        raise UsageError(f"{text}: say PLATFORM:ID, telegram:12345 for example")
    return platform, id_.strip()


def configured_owners(settings: Settings) -> Sequence[tuple[str, str]]:
    found: list[tuple[str, str]] = []
    for name, raw in settings.platforms.items():
        listed = raw.get("allowed_users", ())
        if isinstance(listed, list | tuple):
            found += ((name, str(each)) for each in listed)
    return found


def print_person(options: JsonOptions, context: CliContext, known: KnownPerson, text: str) -> int:
    if options.json:
        context.console.document(person_document(known))
    else:
        context.console.say(text)
    return DONE


def role_name(role: Role) -> str:
    return "removed" if role is Role.STRANGER else role.name.lower()


def person_document(known: KnownPerson) -> Mapping[str, object]:
    return {
        "platform": known.platform,
        "id": known.id,
        "role": role_name(known.role),
        "name": known.name,
        "chat": known.chat,
        "since": iso(known.since),
        "by": known.by,
    }

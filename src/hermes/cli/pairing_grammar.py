"""The words of `hermes pairing …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class People(Shown):
    """hermes pairing list"""


class Invite(Shown):
    role: str
    minutes: int


class Owner(Shown):
    person: str
    name: str


class Admit(Shown):
    request: str
    role: str


class Dismiss(Shown):
    request: str


class Revoke(Shown):
    person: str


Given = People | Invite | Owner | Admit | Dismiss | Revoke


def _role(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--role",
        choices=("paired", "owner"),
        default="paired",
        help="paired: may talk, and use what does no harm; owner: may do everything that you may",
    )


def _invite(parser: "ArgumentParser") -> None:
    _role(parser)
    parser.add_argument("--minutes", type=int, default=10, help="how long it is open (10)")
    json_option(parser)


def _owner(parser: "ArgumentParser") -> None:
    parser.add_argument("person", metavar="PLATFORM:ID", help="telegram:12345, say")
    parser.add_argument("--name", default="", help="for your eyes only")
    json_option(parser)


def _admit(parser: "ArgumentParser") -> None:
    parser.add_argument("request", metavar="REQUEST", help="its id, or the beginning of it")
    _role(parser)
    json_option(parser)


def _dismiss(parser: "ArgumentParser") -> None:
    parser.add_argument("request", metavar="REQUEST", help="its id, or the beginning of it")
    json_option(parser)


def _revoke(parser: "ArgumentParser") -> None:
    parser.add_argument("person", metavar="PLATFORM:ID", help="as hermes pairing list shows it")
    json_option(parser)


PAIRING = (
    Command(
        words=("pairing", "list"),
        summary="Show who may talk to Hermes, and who asks to",
        given=People,
        load=loaders.pairing,
        arguments=json_option,
        more="Who is named in config.yaml (allowed_users) is an owner, too, and is listed there.",
    ),
    Command(
        words=("pairing", "invite"),
        summary="Make a code that lets one person in, once",
        given=Invite,
        load=loaders.pairing,
        arguments=_invite,
        more="They send it to the bot, in a chat with it alone. It is shown once.",
    ),
    Command(
        words=("pairing", "owner"),
        summary="Name an account of yours on a platform",
        given=Owner,
        load=loaders.pairing,
        arguments=_owner,
    ),
    Command(
        words=("pairing", "approve"),
        summary="Let somebody in who asked",
        given=Admit,
        load=loaders.pairing,
        arguments=_admit,
    ),
    Command(
        words=("pairing", "dismiss"),
        summary="Forget a request",
        given=Dismiss,
        load=loaders.pairing,
        arguments=_dismiss,
    ),
    Command(
        words=("pairing", "revoke"),
        summary="Send somebody away: at once, with what runs for them",
        given=Revoke,
        load=loaders.pairing,
        arguments=_revoke,
    ),
)

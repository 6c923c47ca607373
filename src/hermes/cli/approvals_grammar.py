"""The words of `hermes approvals …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Questions(Shown):
    all: bool


class Answer(Shown):
    id: str
    answer: str
    reason: list[str]


class Grants(Shown):
    """hermes approvals grants"""


class RevokeGrant(Shown):
    grant: str


Given = Questions | Answer | Grants | RevokeGrant


def _questions(parser: "ArgumentParser") -> None:
    parser.add_argument("--all", action="store_true", help="also those that are over")
    json_option(parser)


def _answer(parser: "ArgumentParser") -> None:
    parser.add_argument("id", metavar="ID", help="its id, or the beginning of it")
    parser.add_argument("answer", choices=("approve", "deny", "always"), help="your word")
    parser.add_argument("reason", nargs="*", default=[], help="why not; the model is told")
    json_option(parser)


def _revoke_grant(parser: "ArgumentParser") -> None:
    parser.add_argument("grant", metavar="GRANT", help="its id, or the beginning of it")
    json_option(parser)


APPROVALS = (
    Command(
        words=("approvals", "list"),
        summary="Show what waits for your word",
        given=Questions,
        load=loaders.approvals,
        arguments=_questions,
    ),
    Command(
        words=("approvals", "answer"),
        summary="Allow a call, or refuse it",
        given=Answer,
        load=loaders.approvals,
        arguments=_answer,
        more="always: such calls are allowed for 30 days, where that is possible.",
    ),
    Command(
        words=("approvals", "grants"),
        summary="Show what you have allowed for good",
        given=Grants,
        load=loaders.approvals,
        arguments=json_option,
    ),
    Command(
        words=("approvals", "revoke"),
        summary="Take back what you have allowed for good",
        given=RevokeGrant,
        load=loaders.approvals,
        arguments=_revoke_grant,
    ),
)

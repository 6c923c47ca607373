"""The words of `hermes audit …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Shown
from hermes.cli.options import json_option, limit_option

if TYPE_CHECKING:
    from argparse import ArgumentParser

LIMIT_MAX = 100_000


class Show(Shown):
    limit: int
    since: str | None
    session: str | None


def _show(parser: "ArgumentParser") -> None:
    limit_option(parser, "entries, the latest ones", LIMIT_MAX)
    parser.add_argument("--since", metavar="WHEN", help="30m, 12h, 7d, or a date: 2025-12-31")
    parser.add_argument("--session", metavar="NAME", help="only those of this session")
    json_option(parser)


SHOW = Command(
    words=("audit", "show"),
    summary="Print what was done, on whose behalf and who allowed it",
    given=Show,
    load=loaders.audit_show,
    arguments=_show,
    more="""examples:
  hermes audit show -n 50
  hermes audit show --since 7d --session main
  hermes audit show --json --limit 100000 > audit.json

The oldest of them comes first.""",
)
VERIFY = Command(
    words=("audit", "verify"),
    summary="Check that nobody has changed that record",
    given=Shown,
    load=loaders.audit_verify,
    arguments=json_option,
    more="""Every entry is sealed over the one before it, with a key that no tool can read
(audit.key). Where the record ends is noted in audit.heads; keep a copy of both
files elsewhere. Exit status 1: something was changed, and it is said what.""",
)
AUDIT = (SHOW, VERIFY)

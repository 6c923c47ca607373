"""The words of `hermes audit …`: what they take, and what --help says."""

from argparse import ArgumentParser

from hermes.cli.command import Command, Shown

LIMIT, LIMIT_MAX = 20, 100_000


class Show(Shown):
    limit: int
    since: str | None
    session: str | None


def _show(parser: ArgumentParser) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=_count,
        default=LIMIT,
        metavar="N",
        help=f"how many entries, the latest ones (default: {LIMIT})",
    )
    parser.add_argument("--since", metavar="WHEN", help="30m, 12h, 7d, or a date: 2025-12-31")
    parser.add_argument("--session", metavar="NAME", help="only those of this session")
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _verify(parser: ArgumentParser) -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def _count(text: str) -> int:
    number = int(text)
    if not 1 <= number <= LIMIT_MAX:
        raise ValueError(text)
    return number


_count.__name__ = f"number from 1 to {LIMIT_MAX}"  # argparse says: invalid … value

SHOW = Command(
    words=("audit", "show"),
    summary="Print what was done, on whose behalf and who allowed it",
    given=Show,
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
    arguments=_verify,
    more="""Every entry is sealed over the one before it, with a key that no tool can read
(audit.key). Where the record ends is noted in audit.heads; keep a copy of both
files elsewhere. Exit status 1: something was changed, and it is said what.""",
)
AUDIT = (SHOW, VERIFY)

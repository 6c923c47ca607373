"""Options that several commands share, so that they are the same everywhere."""

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser

LIMIT, LIMIT_MAX = 20, 10_000


def json_option(parser: "ArgumentParser") -> None:
    parser.add_argument("--json", action="store_true", help="print one JSON document")


def limit_option(parser: "ArgumentParser", what: str, most: int = LIMIT_MAX) -> None:
    parser.add_argument(
        "-n",
        "--limit",
        type=number_to(most),
        default=LIMIT,
        metavar="N",
        help=f"how many {what} (default: {LIMIT})",
    )


def number_to(most: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        value = int(text)
        if not 1 <= value <= most:
            raise ValueError(text)
        return value

    number.__name__ = f"number from 1 to {most}"  # argparse says: invalid … value
    return number

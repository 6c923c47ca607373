"""Arguments that name a skill or a proposal."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from argparse import ArgumentParser


class SkillNameOptions:
    name: str


class ProposalNameOptions:
    name: str


def name_argument(parser: "ArgumentParser") -> None:
    parser.add_argument("name", help="the name of a skill")


def proposal_argument(parser: "ArgumentParser") -> None:
    parser.add_argument("name", help="a proposal's id, or the name of its skill")

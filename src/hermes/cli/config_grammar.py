"""The words of `hermes config …`: what they take, and what --help says."""

from typing import TYPE_CHECKING

from hermes.cli import loaders
from hermes.cli.command import Command, Nothing, Shown
from hermes.cli.options import json_option

if TYPE_CHECKING:
    from argparse import ArgumentParser


class Key(Shown):
    key: str


class Assignment:
    key: str
    value: str


def _get(parser: "ArgumentParser") -> None:
    parser.add_argument("key", metavar="KEY", help="say gateway.busy, or a whole section: gateway")
    json_option(parser)


def _set(parser: "ArgumentParser") -> None:
    parser.add_argument("key", metavar="KEY", help="say gateway.busy, or NAME of a secret for .env")
    parser.add_argument("value", metavar="VALUE", help="“-” asks for it, so that no one sees it")


SHOW = Command(
    words=("config", "show"),
    summary="Print all settings and where each comes from",
    given=Shown,
    load=loaders.config_show,
    arguments=json_option,
)
GET = Command(
    words=("config", "get"),
    summary="Print one setting",
    given=Key,
    load=loaders.config_get,
    arguments=_get,
)
SET = Command(
    words=("config", "set"),
    summary="Change one setting; comments in the file stay",
    given=Assignment,
    load=loaders.config_set,
    arguments=_set,
    more="""examples:
  hermes config set gateway.busy steer
  hermes config set model.name some-model
  hermes config set OPENROUTER_API_KEY -        (asks; goes into .env)

Settings go into config.yaml, secrets into .env, which only you can read.""",
)
EDIT = Command(
    words=("config", "edit"),
    summary="Open config.yaml in your editor, then check it",
    given=Nothing,
    load=loaders.config_edit,
)
PATH = Command(
    words=("config", "path"),
    summary="Print where config.yaml is",
    given=Shown,
    load=loaders.config_path,
    arguments=json_option,
)
CONFIG = (SHOW, GET, SET, EDIT, PATH)

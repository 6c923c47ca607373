"""Every word of the command line: the commands, what they take, and what --help says of them.

Nothing is run and nothing heavy is loaded here, so that a question about usage is answered at once.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from hermes.cli import audit_grammar as audit
from hermes.cli import demo_grammar as demo
from hermes.cli import doctor_grammar as doctor
from hermes.cli import gateway_grammar as gateway
from hermes.cli import memory_grammar as memory
from hermes.cli import model_grammar as model
from hermes.cli import people_grammar as people
from hermes.cli import policy_grammar as policy
from hermes.cli import prompt_grammar as prompt
from hermes.cli import setup_grammar as setup
from hermes.cli import skills_grammar as skills
from hermes.cli import tools_grammar as tools
from hermes.cli.command import Command, Nothing, Shown
from hermes.cli.options import json_option, limit_option, number_to

if TYPE_CHECKING:
    from argparse import ArgumentParser

DAYS, DAYS_MAX = 30, 3_660


class Chat(Shown):
    query: str | None
    session: str
    image: list[str]


class Listing(Shown):
    limit: int


class Turns(Listing):
    session: str | None


class Named(Shown):
    name: str


class Transcript(Named):
    full: bool


class Search(Listing):
    words: list[str]


class Export:
    name: str
    format: str
    events: bool
    output: str | None


class Delete:
    name: str
    yes: bool


class Key(Shown):
    key: str


class Assignment:
    key: str
    value: str


class Insights(Shown):
    days: int
    svg: str | None
    png: str | None


class Backup:
    file: str | None
    with_secrets: bool
    force: bool


class Restore:
    file: str
    force: bool


def _chat(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "-q", "--query", metavar="TEXT", help="what to say; “-” reads it from standard input"
    )
    parser.add_argument(
        "--session", default="main", metavar="NAME", help="which conversation (default: main)"
    )
    parser.add_argument(
        "--image", action="append", default=[], metavar="PATH", help="send a picture along"
    )
    json_option(parser)


def _sessions_list(parser: "ArgumentParser") -> None:
    limit_option(parser, "sessions")
    json_option(parser)


def _sessions_search(parser: "ArgumentParser") -> None:
    parser.add_argument("words", nargs="+", metavar="WORD", help="all of them must occur")
    limit_option(parser, "places")
    json_option(parser)


def _name(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "name", metavar="NAME", help="name, key or id of a session (see: hermes sessions list)"
    )


def _sessions_show(parser: "ArgumentParser") -> None:
    _name(parser)
    parser.add_argument("--full", action="store_true", help="results of tools in full")
    json_option(parser)


def _sessions_export(parser: "ArgumentParser") -> None:
    _name(parser)
    parser.add_argument(
        "--format",
        choices=("markdown", "json", "jsonl"),
        default="markdown",
        help="markdown to read, json or jsonl to work with (default: markdown)",
    )
    parser.add_argument(
        "--events", action="store_true", help="the journal itself instead of messages (jsonl, json)"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="into a file that only you can read")


def _sessions_suspend(parser: "ArgumentParser") -> None:
    _name(parser)
    json_option(parser)


def _sessions_delete(parser: "ArgumentParser") -> None:
    _name(parser)
    parser.add_argument("-y", "--yes", action="store_true", help="do not ask first")


def _turns_list(parser: "ArgumentParser") -> None:
    parser.add_argument("--session", metavar="NAME", help="only those of this session")
    limit_option(parser, "turns")
    json_option(parser)


def _turns_show(parser: "ArgumentParser") -> None:
    parser.add_argument("name", metavar="ID", help="a turn's id, or the beginning of one")
    json_option(parser)


def _config_get(parser: "ArgumentParser") -> None:
    parser.add_argument("key", metavar="KEY", help="say gateway.busy, or a whole section: gateway")
    json_option(parser)


def _config_set(parser: "ArgumentParser") -> None:
    parser.add_argument("key", metavar="KEY", help="say gateway.busy, or NAME of a secret for .env")
    parser.add_argument("value", metavar="VALUE", help="“-” asks for it, so that no one sees it")


def _insights(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "--days",
        type=number_to(DAYS_MAX),
        default=DAYS,
        metavar="N",
        help=f"today and the days before it, so many in all (default: {DAYS})",
    )
    parser.add_argument("--svg", metavar="FILE", help="draw it into a file")
    parser.add_argument("--png", metavar="FILE", help="the same as PNG (needs hermes[pictures])")
    json_option(parser)


def _backup(parser: "ArgumentParser") -> None:
    parser.add_argument(
        "file", nargs="?", metavar="FILE", help="default: a new name in this folder"
    )
    parser.add_argument("--with-secrets", action="store_true", help="put .env into it as well")
    parser.add_argument("--force", action="store_true", help="replace FILE if it exists")


def _restore(parser: "ArgumentParser") -> None:
    parser.add_argument("file", metavar="FILE", help="made by: hermes backup")
    parser.add_argument("--force", action="store_true", help="replace the database that is there")


CHAT = Command(
    words=("chat",),
    summary="Say something and print the answer",
    given=Chat,
    arguments=_chat,
    more="""examples:
  hermes chat -q "What is in this folder?"
  git diff | hermes chat -q -
  hermes chat -q "And in the other one?" --session work --json

The answer goes to standard output, everything else to standard error. Ctrl+C
stops the turn; a turn that was cut off goes on the next time.""",
)
SESSIONS_LIST = Command(
    words=("sessions", "list"),
    summary="List conversations, the latest first",
    given=Listing,
    arguments=_sessions_list,
)
SESSIONS_SHOW = Command(
    words=("sessions", "show"),
    summary="Print a conversation",
    given=Transcript,
    arguments=_sessions_show,
)
SESSIONS_SEARCH = Command(
    words=("sessions", "search"),
    summary="Find words in all conversations",
    given=Search,
    arguments=_sessions_search,
)
SESSIONS_EXPORT = Command(
    words=("sessions", "export"),
    summary="Write a conversation as Markdown or JSON",
    given=Export,
    arguments=_sessions_export,
)
SESSIONS_SUSPEND = Command(
    words=("sessions", "suspend"),
    summary="Park a conversation; the next message begins a new one",
    given=Named,
    arguments=_sessions_suspend,
)
SESSIONS_DELETE = Command(
    words=("sessions", "delete"),
    summary="Remove a session and all that belongs to it, for good",
    given=Delete,
    arguments=_sessions_delete,
)
TURNS_LIST = Command(
    words=("turns", "list"),
    summary="List turns, the latest first",
    given=Turns,
    arguments=_turns_list,
)
TURNS_SHOW = Command(
    words=("turns", "show"),
    summary="Show what a turn did, step by step",
    given=Named,
    arguments=_turns_show,
)
CONFIG_SHOW = Command(
    words=("config", "show"),
    summary="Print all settings and where each comes from",
    given=Shown,
    arguments=json_option,
)
CONFIG_GET = Command(
    words=("config", "get"),
    summary="Print one setting",
    given=Key,
    arguments=_config_get,
)
CONFIG_SET = Command(
    words=("config", "set"),
    summary="Change one setting; comments in the file stay",
    given=Assignment,
    arguments=_config_set,
    more="""examples:
  hermes config set gateway.busy steer
  hermes config set model.name some-model
  hermes config set OPENROUTER_API_KEY -        (asks; goes into .env)

Settings go into config.yaml, secrets into .env, which only you can read.""",
)
CONFIG_EDIT = Command(
    words=("config", "edit"),
    summary="Open config.yaml in your editor, then check it",
    given=Nothing,
)
CONFIG_PATH = Command(
    words=("config", "path"),
    summary="Print where config.yaml is",
    given=Shown,
    arguments=json_option,
)
INSIGHTS = Command(
    words=("insights",),
    summary="Show what models and tools took, by day and more",
    given=Insights,
    arguments=_insights,
)
BACKUP = Command(
    words=("backup",),
    summary="Write everything into one file; Hermes may go on working",
    given=Backup,
    arguments=_backup,
)
RESTORE = Command(
    words=("restore",),
    summary="Put a backup back; what it replaces is kept aside",
    given=Restore,
    arguments=_restore,
)
# In the order of --help, under their headings there.
HEADINGS: Mapping[str, tuple[Command[object], ...]] = {
    "Talk": (CHAT, gateway.SEND),
    "Set up": (setup.SETUP, *model.MODEL, *tools.TOOLS),
    "Gateway": gateway.GATEWAY,
    "Conversations": (
        SESSIONS_LIST,
        SESSIONS_SHOW,
        SESSIONS_SEARCH,
        SESSIONS_EXPORT,
        SESSIONS_SUSPEND,
        SESSIONS_DELETE,
        TURNS_LIST,
        TURNS_SHOW,
    ),
    "Settings": (CONFIG_SHOW, CONFIG_GET, CONFIG_SET, CONFIG_EDIT, CONFIG_PATH, prompt.SHOW),
    "Memory": memory.MEMORY,
    "Skills": skills.SKILLS,
    "Safety": (*people.APPROVALS, *people.PAIRING, policy.CHECK, *audit.AUDIT),
    "Care": (INSIGHTS, doctor.DOCTOR, BACKUP, RESTORE, demo.CRASH),
}
COMMANDS = {command.words: command for group in HEADINGS.values() for command in group}
# What a family does when no word follows its name.
DEFAULTS = {
    "audit": "show",
    "approvals": "list",
    "pairing": "list",
    "gateway": "run",
    "sessions": "list",
    "turns": "list",
    "config": "show",
    "demo": "crash",
    "memory": "show",
    "model": "choose",
    "policy": "check",
    "prompt": "show",
    "skills": "list",
    "tools": "list",
}

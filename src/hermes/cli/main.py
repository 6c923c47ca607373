"""From words to a command: finds it, loads only what it needs, and turns errors into a status."""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TextIO, TypeVar

from hermes import __version__
from hermes.cli import (
    approvals_grammar,
    audit_grammar,
    backup_grammar,
    config_grammar,
    demo_grammar,
    doctor_grammar,
    gateway_grammar,
    grammar,
    insights_grammar,
    loaders,
    model_grammar,
    pairing_grammar,
    policy_grammar,
    prompt_grammar,
    sessions_grammar,
    setup_grammar,
    skills_grammar,
    talk_grammar,
    tools_grammar,
    turns_grammar,
    usage,
    window_grammar,
)
from hermes.cli import memory_grammar as memory
from hermes.cli.command import Command
from hermes.cli.errors import DONE, FAILED, INTERRUPTED, WRONG_USAGE, Usage, status_of
from hermes.core.errors import HermesError

if TYPE_CHECKING:
    from hermes.cli.place import Place

G = TypeVar("G")
Run = Callable[[list[str]], int]
STDIN_CHARS_MAX = 1_000_000
HELP = ("-h", "--help")
GARBAGE_OBJECTS = 50_000  # before the youngest are looked through: an import leaves no garbage


def main(argv: list[str]) -> int:
    """Run one command line. Every failure that has a name becomes one line and a status."""
    gc.set_threshold(GARBAGE_OBJECTS)
    if not _debugging():
        sys.excepthook = _unforeseen
    for stream in (sys.stdin, sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # UTF-8, whatever the locale says
            stream.reconfigure(encoding="utf-8", errors="replace")
    try:
        status = _dispatch(argv)
        if sys.stdout is not None:
            sys.stdout.flush()
    except Usage as wrong:
        return _complain(str(wrong), WRONG_USAGE)
    except (HermesError, ExceptionGroup, OSError) as error:
        return _failed(error)
    except KeyboardInterrupt:
        return INTERRUPTED
    return status


def _dispatch(argv: list[str]) -> int:
    match argv:
        case []:
            return _alone()
        case ["-h" | "--help" | "help"]:
            sys.stdout.write(usage.full())
            return DONE
        case ["-V" | "--version", *_]:
            sys.stdout.write(f"hermes {__version__}\n")
            return DONE
        case ["help", *about]:
            return _dispatch([*about, "--help"])
        case [first, *_] if first.partition("=")[0] in window_grammar.OPTIONS:
            return _window(argv)
        case [first, *_] if first.startswith("-"):
            raise Usage(f"there is no option {first}. See: hermes --help")
        case [name, word, *_] if name in grammar.DEFAULTS and word in HELP:
            sys.stdout.write(usage.family(name))
            return DONE
    words, rest = _found(argv)
    return _ROUTES[words](rest)


def _found(argv: list[str]) -> tuple[tuple[str, ...], list[str]]:
    """The command's words, and what stands behind them."""
    name, rest = argv[0], argv[1:]
    if (name,) in grammar.COMMANDS:
        return (name,), rest
    families = dict.fromkeys(words[0] for words in grammar.COMMANDS)
    if name not in families:
        _unknown("hermes", name, families)
    if not rest or rest[0].startswith("-"):
        return (name, grammar.DEFAULTS[name]), rest
    members = [words[1] for words in grammar.COMMANDS if words[0] == name]
    if rest[0] not in members:
        _unknown(f"hermes {name}", rest[0], members)
    return (name, rest[0]), rest[1:]


def _unknown(before: str, word: str, known: Sequence[str] | Mapping[str, object]) -> NoReturn:
    from difflib import get_close_matches

    near = get_close_matches(word, list(known), n=1)
    meant = f"Did you mean: {before} {near[0]}" if near else f"See: {before} --help"
    raise Usage(f"there is no command “{before} {word}”. {meant}")


def _alone() -> int:
    """A terminal gets a conversation; what is piped in is said; nothing at all, the first steps."""
    text = ""
    if sys.stdin is not None and not sys.stdin.isatty():
        text = sys.stdin.read(STDIN_CHARS_MAX)
    if text.strip():
        return _ROUTES["chat",]([f"--query={text}"])
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        return _window([])
    sys.stdout.write(usage.short())
    return DONE


def _window(argv: list[str]) -> int:
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        raise Usage("a window needs a terminal. In a pipe, say it with: hermes chat -q TEXT")
    return loaders.window()(window_grammar.WINDOW.parse(argv), _here())


def _complain(text: str, status: int) -> int:
    sys.stderr.write(f"hermes: {' '.join(text.split())}\n")
    return status


def _failed(error: BaseException) -> int:
    """The first thing that went wrong, if all that did has a name; else it is not ours to tell."""
    causes = list(_leaves(error))
    _give_up_output()
    if any(isinstance(cause, BrokenPipeError) for cause in causes):
        return DONE  # whoever reads has had enough
    named = [cause for cause in causes if isinstance(cause, HermesError | OSError)]
    if _debugging() or len(named) < len(causes):
        raise error
    first = named[0]
    return _complain(str(first), status_of(first) if isinstance(first, HermesError) else FAILED)


def _give_up_output() -> None:
    from hermes.cli.console import give_up

    try:
        sys.stdout.flush()
    except OSError:
        give_up(sys.stdout)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _unforeseen(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """One line for the person; the whole of it into the log, where there is one."""
    import logging

    if logging.getLogger().handlers:
        logging.getLogger("hermes").critical("unforeseen", exc_info=(kind, error, trace))
    hint = "This is a fault in Hermes. Set HERMES_DEBUG=1 to see where it happened."
    _complain(f"{kind.__name__}: {error}. {hint}", FAILED)


def _debugging() -> bool:
    return os.environ.get("HERMES_DEBUG", "") not in ("", "0")


def _route(
    command: Command[G], load: Callable[[], Callable[[G, "Place"], int]]
) -> tuple[tuple[str, ...], Run]:
    def run(words: list[str]) -> int:
        try:
            given = command.parse(words)
        except SystemExit as answered:  # --help has been printed
            return int(answered.code or 0)
        return load()(given, _here())

    return command.words, run


def _here() -> "Place":
    from hermes.cli.console import standard
    from hermes.cli.place import Place
    from hermes.settings import home_of

    environ = dict(os.environ)
    console = standard(environ, _draw)
    return Place(home=home_of(environ), environ=environ, console=console, clock=time.time)


def _draw(headings: Sequence[str], rows: Sequence[Sequence[str]], stream: TextIO) -> None:
    from hermes.cli.tables import draw

    draw(headings, rows, stream)


_ROUTES: Mapping[tuple[str, ...], Run] = dict(
    (
        _route(talk_grammar.CHAT, loaders.chat),
        _route(sessions_grammar.LIST, loaders.sessions_list),
        _route(sessions_grammar.SHOW, loaders.sessions_show),
        _route(sessions_grammar.SEARCH, loaders.sessions_search),
        _route(sessions_grammar.EXPORT, loaders.sessions_export),
        _route(sessions_grammar.SUSPEND, loaders.sessions_suspend),
        _route(sessions_grammar.DELETE, loaders.sessions_delete),
        _route(turns_grammar.LIST, loaders.turns_list),
        _route(turns_grammar.SHOW, loaders.turns_show),
        _route(config_grammar.SHOW, loaders.config_show),
        _route(config_grammar.GET, loaders.config_get),
        _route(config_grammar.SET, loaders.config_set),
        _route(config_grammar.EDIT, loaders.config_edit),
        _route(config_grammar.PATH, loaders.config_path),
        _route(gateway_grammar.RUN, loaders.gateway_run),
        _route(gateway_grammar.START, loaders.gateway_start),
        _route(gateway_grammar.STOP, loaders.gateway_stop),
        _route(gateway_grammar.RESTART, loaders.gateway_restart),
        _route(gateway_grammar.STATUS, loaders.gateway_status),
        _route(gateway_grammar.SETUP, loaders.gateway_setup),
        _route(gateway_grammar.INSTALL, loaders.gateway_install),
        _route(gateway_grammar.UNINSTALL, loaders.gateway_uninstall),
        _route(talk_grammar.SEND, loaders.send),
        _route(prompt_grammar.SHOW, loaders.prompt_show),
        _route(policy_grammar.CHECK, loaders.policy_check),
        _route(audit_grammar.SHOW, loaders.audit_show),
        _route(audit_grammar.VERIFY, loaders.audit_verify),
        *(_route(each, loaders.approvals) for each in approvals_grammar.APPROVALS),
        *(_route(each, loaders.pairing) for each in pairing_grammar.PAIRING),
        *(_route(each, loaders.memory) for each in memory.MEMORY),
        *(_route(each, loaders.skills) for each in skills_grammar.SKILLS),
        _route(setup_grammar.SETUP, loaders.setup),
        _route(model_grammar.CHOOSE, loaders.model_choose),
        _route(model_grammar.LIST, loaders.model_list),
        _route(model_grammar.SHOW, loaders.model_show),
        _route(model_grammar.PROVIDERS, loaders.model_providers),
        _route(tools_grammar.LIST, loaders.tools_list),
        _route(tools_grammar.ENABLE, loaders.tools_enable),
        _route(tools_grammar.DISABLE, loaders.tools_disable),
        _route(insights_grammar.INSIGHTS, loaders.insights),
        _route(demo_grammar.CRASH, loaders.demo_crash),
        _route(doctor_grammar.DOCTOR, loaders.doctor),
        _route(backup_grammar.BACKUP, loaders.backup),
        _route(backup_grammar.RESTORE, loaders.restore),
    )
)

"""From words to a command: finds it, loads only what it needs, and turns errors into a status."""

import gc
import os
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from io import TextIOWrapper
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TextIO

from hermes import __version__
from hermes.cli.errors import DONE, FAILED, INTERRUPTED, WRONG_USAGE, Usage, status_of
from hermes.cli.grammar import FAMILIES
from hermes.core.errors import HermesError

if TYPE_CHECKING:
    from hermes.cli.command import Command
    from hermes.cli.place import Place

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
            return _explained()
        case ["-V" | "--version", *_]:
            sys.stdout.write(f"hermes {__version__}\n")
            return DONE
        case ["help", *about]:
            return _dispatch([*about, "--help"])
        case [first, *_] if first.startswith("-"):
            return _window(argv)
        case [name, word, *_] if name in FAMILIES and FAMILIES[name].alone and word in HELP:
            return _explained(name)
    command, rest = _found(argv)
    return command.run(rest, _here)


def _explained(name: str = "") -> int:
    """A family of commands, or all of them."""
    from hermes.cli import usage

    sys.stdout.write(usage.family(name) if name else usage.full())
    return DONE


def _found(argv: list[str]) -> tuple["Command[object]", list[str]]:
    """The command that the first words name, and what stands behind them."""
    name, rest = argv[0], argv[1:]
    if name not in FAMILIES:
        _unknown("hermes", name, FAMILIES)
    family = FAMILIES[name]
    members = {command.words[1:]: command for command in family.load()}
    if not family.alone:
        return members[()], rest
    if not rest or rest[0].startswith("-"):
        return members[family.alone,], rest
    if (rest[0],) not in members:
        _unknown(f"hermes {name}", rest[0], [word for (word,) in members])
    return members[rest[0],], rest[1:]


def _unknown(before: str, word: str, known: Sequence[str] | Mapping[str, object]) -> NoReturn:
    from hermes.views.rare import likely

    near = likely(word, known)
    meant = f"Did you mean: {before} {near[0]}" if near else f"See: {before} --help"
    raise Usage(f"there is no command “{before} {word}”. {meant}")


def _alone() -> int:
    """A terminal gets a conversation; what is piped in is said; nothing at all, the first steps."""
    text = ""
    if sys.stdin is not None and not sys.stdin.isatty():
        text = sys.stdin.read(STDIN_CHARS_MAX)
    if text.strip():
        return _dispatch(["chat", f"--query={text}"])
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        return _window([])
    from hermes.cli import usage

    sys.stdout.write(usage.short())
    return DONE


def _window(argv: list[str]) -> int:
    from hermes.cli.window_grammar import OPTIONS, WINDOW

    if argv and argv[0].partition("=")[0] not in OPTIONS:
        raise Usage(f"there is no option {argv[0]}. See: hermes --help")
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        raise Usage("a window needs a terminal. In a pipe, say it with: hermes chat -q TEXT")
    return WINDOW.run(argv, _here)


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

"""Parse the first words, load only what the command needs, and turn errors into a status."""

import gc
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from io import TextIOWrapper
from types import TracebackType
from typing import TYPE_CHECKING, NoReturn, TextIO

from hermes import __version__
from hermes.cli.errors import DONE, FAILED, WRONG_USAGE, UsageError, status_of
from hermes.cli.registry import CHOOSING, FAMILIES, SAYING, WINDOW, WINDOW_OPTIONS
from hermes.core.errors import HermesError
from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import logging
    import shlex

    from hermes.cli import context as cli_context
    from hermes.cli import foreign_home, help_text
    from hermes.cli.command import CommandEntry
    from hermes.cli.context import CliContext
    from hermes.cli.output import console as cli_console
    from hermes.cli.output import hints, tables, wrapping
    from hermes.settings import home
    from hermes.text import similar
    from hermes.views import files
else:
    logging = LazyModule("logging")
    shlex = LazyModule("shlex")
    cli_context = LazyModule("hermes.cli.context")
    foreign_home = LazyModule("hermes.cli.foreign_home")
    help_text = LazyModule("hermes.cli.help_text")
    cli_console = LazyModule("hermes.cli.output.console")
    hints = LazyModule("hermes.cli.output.hints")
    tables = LazyModule("hermes.cli.output.tables")
    wrapping = LazyModule("hermes.cli.output.wrapping")
    home = LazyModule("hermes.settings.home")
    files = LazyModule("hermes.views.files")
    similar = LazyModule("hermes.text.similar")

STDIN_CHARS_MAX = 1_000_000
HELP = ("-h", "--help")
SURELY = 0.8  # so alike are a command and a slip of it
GARBAGE_OBJECTS = 200_000  # before the youngest are looked through: an import leaves no garbage


def main(argv: list[str]) -> int:
    """Run one command line. Every known error becomes one line and a status. Raise
    KeyboardInterrupt."""
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
    except UsageError as wrong:
        return _complain(str(wrong), WRONG_USAGE)
    except (HermesError, ExceptionGroup, OSError) as error:
        return _report_failure(error)
    except EOFError:
        return _complain("the input ended before everything was answered", FAILED)
    return status


def _dispatch(argv: list[str]) -> int:
    match argv:
        case []:
            return _alone()
        case ["-h" | "--help" | "help"]:
            return _explain()
        case ["-V" | "--version", *_]:
            sys.stdout.write(f"hermes {__version__}\n")
            return DONE
        case ["help", *about]:
            return _dispatch([*about, "--help"])
        case [first, *_] if first.startswith("-"):
            return _dispatch(["chat", *argv]) if _says_something(argv) else _window(argv)
        case [first, *_] if first not in FAMILIES:
            _demand_message(argv)
            return _dispatch(["chat", *argv])
        case [name, word, *_] if name in FAMILIES and FAMILIES[name].alone and word in HELP:
            return _explain(name)
    entry, rest = _find_command(argv)
    return entry.run(rest, _here)


def _explain(name: str = "") -> int:
    """Print the help of one family of commands, or of all."""
    text = hints.as_called(help_text.family(name) if name else help_text.full())
    sys.stdout.write(_fit(text, sys.stdout))
    return DONE


def _find_command(argv: list[str]) -> tuple["CommandEntry", list[str]]:
    """Return the command that the first words name, and the remaining words."""
    name, rest = argv[0], argv[1:]
    family = FAMILIES[name]
    members = {entry.words[1:]: entry for entry in family.entries}
    if not family.alone:
        return members[()], rest
    if not rest or rest[0].startswith("-"):
        return members[family.alone,], rest
    if (rest[0],) not in members:
        _unknown(f"hermes {name}", rest[0], [word for (word,) in members])
    return members[rest[0],], rest[1:]


def _demand_message(argv: list[str]) -> None:
    """Raise UsageError for a likely typo: `hermes hello` is a message, `hermes sesions` is a typo.
    Several words are always a message."""
    first = argv[0]
    near = [] if len(first.split()) > 1 else similar.likely(first, FAMILIES)
    if near and _is_slip(first, near[0]):
        said = " ".join(word for word in argv if not word.startswith("-"))
        slip = f"there is no command “hermes {first}”. Did you mean: hermes {near[0]}"
        raise UsageError(f"{slip}? To send it as a message: hermes chat -q {shlex.quote(said)}")


def _is_slip(word: str, command: str) -> bool:
    """Return True for a likely typo: `caht` is one, `what` is not, because typos seldom change the
    first letter."""
    swapped = sorted(word) == sorted(command)
    return word[:1] == command[:1] or swapped or similar.likeness(word, command) >= SURELY


def _says_something(argv: list[str]) -> bool:
    """Return True if there is a message beside the options that choose a conversation, or one is
    piped in."""
    words = list(argv)
    while words:
        word = words.pop(0)
        name = word.partition("=")[0]
        if name in SAYING or word.startswith("-q") or not word.startswith("-"):
            return True
        if word == "--session" and words:
            words.pop(0)
        if name not in CHOOSING:
            return False
    return sys.stdin is not None and not sys.stdin.isatty()


def _unknown(before: str, word: str, known: Sequence[str] | Mapping[str, object]) -> NoReturn:
    near = similar.likely(word, known)
    meant = f"Did you mean: {before} {near[0]}" if near else f"See: {before} --help"
    raise UsageError(f"there is no command “{before} {word}”. {meant}")


def _alone() -> int:
    """Run `hermes` without words: a window at a terminal, a chat for piped input, else the first
    steps."""
    text = ""
    if sys.stdin is not None and not sys.stdin.isatty():
        text = sys.stdin.read(STDIN_CHARS_MAX)
    if text.strip():
        return _dispatch(["chat", f"--query={text}"])
    if sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty():
        return _window([])
    sys.stdout.write(_fit(hints.as_called(help_text.short()), sys.stdout))
    return DONE


def _window(argv: list[str]) -> int:
    if argv and argv[0].partition("=")[0] not in WINDOW_OPTIONS:
        raise UsageError(f"there is no option {argv[0]}. See: hermes --help")
    if not (sys.stdin is not None and sys.stdin.isatty() and sys.stdout.isatty()):
        raise UsageError("a window needs a terminal. In a pipe, say it with: hermes chat -q TEXT")
    return WINDOW.run(argv, _here)


def _complain(text: str, status: int) -> int:
    line = f"hermes: {hints.as_called(' '.join(text.split()))}\n"
    sys.stderr.write(_fit(line, sys.stderr))
    return status


def _fit(text: str, stream: TextIO) -> str:
    """Wrap the text for a terminal; a pipe gets it as it is."""
    if not stream.isatty():
        return text
    return wrapping.wrapped(text, wrapping.width_of(stream))


def _report_failure(error: BaseException) -> int:
    """Print the first error and return its status, if all errors are known ones; else raise it."""
    causes = list(_leaves(error))
    _give_up_output()
    if any(isinstance(cause, BrokenPipeError) for cause in causes):
        return DONE  # the reader closed the pipe
    named = [cause for cause in causes if isinstance(cause, HermesError | OSError)]
    if _debugging() or len(named) < len(causes):
        raise error
    first = named[0]
    if isinstance(first, OSError):
        return _complain(_describe(first), FAILED)
    return _complain(str(first), status_of(first))


def _describe(error: OSError) -> str:
    if not files.is_full(error):
        return str(error)
    what = f"{error.filename} cannot be written: " if error.filename else ""
    return f"{what}the disk is full. Free some space"


def _give_up_output() -> None:
    try:
        sys.stdout.flush()
    except OSError:
        cli_console.give_up(sys.stdout)


def _leaves(error: BaseException) -> Iterator[BaseException]:
    if isinstance(error, BaseExceptionGroup):
        for inner in error.exceptions:
            yield from _leaves(inner)
    else:
        yield error


def _unforeseen(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """Print one line for the person; write the whole traceback into the log, if there is one."""
    if logging.getLogger().handlers:
        logging.getLogger("hermes").critical("unforeseen", exc_info=(kind, error, trace))
    hint = "This is a fault in Hermes. Set HERMES_DEBUG=1 to see where it happened."
    _complain(f"{kind.__name__}: {error}. {hint}", FAILED)


def _debugging() -> bool:
    return os.environ.get("HERMES_DEBUG", "") not in ("", "0")


def _here() -> "CliContext":
    environ = dict(os.environ)
    context = cli_context.CliContext(
        home=home.home_of(environ),
        environ=environ,
        console=cli_console.standard(environ, _draw),
        clock=time.time,
    )
    if home.is_of_hermes_agent(context.home):
        return foreign_home.elsewhere(context)
    return context


def _draw(
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    width: int,
    dim: Callable[[str], str],
) -> Iterable[str]:
    return tables.table_lines(headings, rows, width, dim)

"""Which files a command may read or write, by its letters, to carry labels along.

It errs on the side of a label: of a program that is not known here, everything in the workspace
may have been read. It decides nothing about what may run; that is the business of shell/verdict.py.
"""

import re
import shlex
from collections.abc import Iterator, Sequence
from typing import Final

from msgspec import Struct

from hermes.tools.shell.paths import absolute, moved
from hermes.views.obeyed_files import is_obeyed

WORDS_MAX: Final = 400

# They print no file's content: what they say is about names, states and the machine.
SILENT: Final = frozenset(
    {
        *("ls", "pwd", "cd", "echo", "printf", "mkdir", "rmdir", "touch", "date", "which", "type"),
        *("uname", "whoami", "id", "true", "false", ":", "rm", "mv", "cp", "ln", "chmod", "chown"),
        *("sleep", "du", "df", "stat", "test", "[", "basename", "dirname", "realpath", "readlink"),
        *("hostname", "nproc", "free", "uptime", "ps", "kill", "wait", "exit", "set", "export"),
        *("unset", "seq", "tty", "arch", "groups", "locale", "getconf", "mktemp", "truncate"),
    }
)
GIT_SILENT: Final = frozenset(
    {
        *("status", "add", "commit", "branch", "checkout", "switch", "restore", "rm", "mv", "init"),
        *("remote", "config", "rev-parse", "push", "tag", "reset", "ls-files", "worktree"),
    }
)
# They read the files that they are given, and a folder only when told so.
READERS: Final = frozenset(
    {
        *("cat", "tac", "head", "tail", "nl", "wc", "sort", "uniq", "cut", "tr", "paste", "join"),
        *("comm", "diff", "cmp", "column", "fold", "fmt", "rev", "grep", "egrep", "fgrep", "sed"),
        *("awk", "gawk", "mawk", "jq", "yq", "xxd", "od", "hexdump", "strings", "base64", "base32"),
        *("md5sum", "sha1sum", "sha256sum", "sha512sum", "cksum", "file", "less", "more", "tee"),
    }
)
# The same, and they begin here when they are given nothing.
SEARCHERS: Final = frozenset({"rg", "find", "fd", "tree", "ag", "ack"})
CARRIERS: Final = frozenset({"cp", "mv", "ln", "install", "rsync", "tar", "unzip", "patch"})
_RECURSIVE: Final = frozenset({"-r", "-R", "-a", "--recursive", "--archive", "--dereference"})
_UNCLEAR: Final = re.compile(r"[$`\\]|<\(|>\(")
_SEPARATORS: Final = frozenset(
    {";", "&", "&&", "|", "||", "|&", "\n", "(", ")", "{", "}", "!", "do", "then", "else", "if"}
)
_REDIRECTS: Final = re.compile(r"[0-9]*(?:<<<|<<|<>|>>|>&|>\||&>|<|>)|&>>")
_GLOB: Final = re.compile(r"[*?\[{]")


class Reads(Struct, frozen=True, kw_only=True):
    """Files and folders that may have been read; folders with all that is in them."""

    files: tuple[str, ...] = ()
    folders: tuple[str, ...] = ()


def reads_of(command: str, cwd: str, root: str) -> Reads:
    """Of a command that runs there, in that workspace."""
    everything = Reads(folders=(root, cwd))
    if _UNCLEAR.search(command):
        return everything
    try:
        calls = list(_calls(command))
    except ValueError:
        return everything
    cwds, files, folders = [cwd], list[str](), list[str]()
    for words in calls:
        program = words[0].rpartition("/")[2]
        operands = [word for word in words[1:] if not word.startswith("-")]
        if program == "cd":
            cwds = moved(operands[0], cwds) if len(operands) == 1 else []
            if not cwds:
                return everything
        elif program == "git" and operands[:1] and operands[0] in GIT_SILENT:
            continue
        elif program in READERS or program in SEARCHERS:
            found = [absolute(_stem(word), each) for word in operands for each in cwds]
            files += found
            deep = program in SEARCHERS or any("r" in word.casefold() for word in _options(words))
            folders += [*found, *(cwds if deep else ())] if deep else []
            folders += [absolute(_stem(w), c) for w in operands if _GLOB.search(w) for c in cwds]
        elif program not in SILENT:
            return everything
    return Reads(files=tuple(files), folders=tuple(folders))


def writes_obeyed(command: str) -> bool:
    """May it write a file that other programs obey later? For a command that changes things."""
    try:
        calls = list(_calls(command.replace("$", " ").replace("`", " ")))
    except ValueError:
        return True
    for words in calls:
        if any(is_obeyed(word.rstrip("/")) for word in words[1:]):
            return True
        program = words[0].rpartition("/")[2]
        deep = _RECURSIVE & {*words} or any(_GLOB.search(word) for word in words)
        if program in CARRIERS and (deep or program in ("tar", "unzip", "patch", "rsync")):
            return True
    return False


def _options(words: Sequence[str]) -> list[str]:
    return [word for word in words[1:] if word.startswith("-")]


def _stem(word: str) -> str:
    """The part of a path before its first wildcard."""
    found = _GLOB.search(word)
    if found is None:
        return word
    return word[: found.start()].rpartition("/")[0] or ("/" if word.startswith("/") else ".")


def _calls(command: str) -> Iterator[list[str]]:
    """The words of each simple command; what is redirected counts as a word. Raises ValueError."""
    lexer = shlex.shlex(command.replace("\n", " ; "), posix=True, punctuation_chars="();<>|&")
    lexer.whitespace_split = True
    lexer.commenters = ""
    words: list[str] = []
    for count, word in enumerate(lexer):
        if count > WORDS_MAX:
            raise ValueError("too many words")
        if word in _SEPARATORS:
            if words:
                yield words
            words = []
        elif not _REDIRECTS.fullmatch(word) and not (not words and _is_assignment(word)):
            words.append(word)
    if words:
        yield words


def _is_assignment(word: str) -> bool:
    return word.partition("=")[0].isidentifier() and "=" in word

"""git: which of its words are known to only look, and which would print a private file.

What git prints of the history is in no file that a box could cover. So a private file that is named
is a reason to ask, and everywhere else git is told that private files are binary (`quiet_git`).
"""

import re
from collections.abc import Sequence
from pathlib import Path

from hermes.tools.shell import programs as programs
from hermes.tools.shell import readers as readers
from hermes.tools.shell.path_checker import PathChecker, short
from hermes.tools.shell.paths import is_private_name, may_be_private
from hermes.tools.shell.words import Word

ATTRIBUTES = Path(__file__).with_name("private.gitattributes")
VERIFIES = re.compile(r"%G|%\(signature")
# They print what is in files; `log` only with one of the options below.
CONTENT = frozenset(
    {"blame", "show", "diff", "diff-index", "diff-tree", "cat-file", "grep", "stash", "range-diff"}
    | {"whatchanged"}
)
PATCH = re.compile(
    r"-[a-zA-Z]*[pu].*|--patch.*|--unified.*|-[LU].*|--word-diff.*|--color-words.*|-c|--cc|-m"
)
AS_TEXT = re.compile(r"--text|-[a-zA-Z]*a[a-zA-Z]*")
OBJECT = re.compile(r"[0-9a-f]{4,64}")
QUOTED_OBJECT = re.compile(r"'([0-9a-f]{4,64})'")
# Options with which these print names of files and nothing else.
NAMES = {
    "ls-files": re.compile(
        r"-[zcmod]+|--(?:cached|modified|others|deleted|exclude-standard)|[^-].*"
    ),
    "diff": re.compile(r"--name-only|--cached|--staged|--diff-filter=[A-Z]+|--|[^-].*"),
    "grep": re.compile(r"-l[iwEF]*|-[iwEF]+|--files-with-matches|--|[^-].*"),
}
NEEDS = {"ls-files": set[str](), "diff": {"--name-only"}, "grep": {"-l", "--files-with-matches"}}


def judge_git(words: Sequence[str], checker: PathChecker) -> None:
    """Of a subcommand that only looks."""
    subcommand = next((word for word in words if word not in readers.GIT_FLAGS), "")
    prints = subcommand in CONTENT or any(PATCH.fullmatch(word) for word in words)
    for word in words:
        _judge_word(word, checker)
        if prints and _names_private(word):
            checker.reasons.ask(
                f"git would print {short(word)}, which has a name for keys or secrets"
            )
        if prints and AS_TEXT.fullmatch(word) and subcommand not in ("branch", "stash"):
            checker.reasons.ask(f"git: the option {short(word)} is not known to be safe")
    if subcommand == "cat-file" and any(OBJECT.fullmatch(word) for word in words):
        checker.reasons.ask("git would print an object, which may be a private file")


def _judge_word(word: str, checker: PathChecker) -> None:
    long, brief = word.partition("=")[0], re.fullmatch(programs.GIT_SHORT, word)
    if word.startswith("--") and word != "--":
        if long not in programs.GIT_LONG and long not in readers.GIT_FLAGS:
            checker.reasons.ask(f"git: the option {short(long)} is not known to be safe")
    elif word.startswith("-") and len(word) > 1 and word != "--":
        if not brief:
            checker.reasons.ask(f"git: the option {short(word)} is not known to be safe")
    elif word.startswith(("/", "~")) or ".." in word.split("/"):
        checker.path("read", Word(shape=word), "git")
    if VERIFIES.search(word):
        checker.reasons.ask("git runs a program to show a signature")


def _names_private(word: str) -> bool:
    """In a path, behind a revision (`HEAD:.env`), or in a pattern for paths."""
    parts = [part for part in re.split(r"[:)!^=,]", word) if part]
    names = [each for part in parts for each in part.split("/")]
    return any(is_private_name(name) or may_be_private(name) for name in names)


def git_prints_names(words: Sequence[str | None]) -> bool:
    """Does it print names of tracked files, and no more?"""
    subcommand = words[0] if words else None
    if subcommand is None or subcommand not in NAMES:
        return False
    given = [word for word in words[1:] if word is not None]
    needed = NEEDS[subcommand]
    plain = all(NAMES[subcommand].fullmatch(word) for word in given)
    return plain and len(given) == len(words) - 1 and (not needed or bool(needed & set(given)))


def commit_only(words: Sequence[str]) -> list[str]:
    """Of quoted words: `git show 1a2b3c` shows a commit, never a file that has this name."""
    subcommand = next((word for word in words if word.strip("'") not in readers.GIT_FLAGS), "")
    if subcommand.strip("'") not in ("show", "diff", "diff-tree", "diff-index"):
        return list(words)
    return [
        f"'{found[1]}^{{commit}}'" if (found := QUOTED_OBJECT.fullmatch(word)) else word
        for word in words
    ]


def quiet_git() -> str:
    """Shell words in front of a command: git runs nothing on behalf of the repository's settings,
    and takes private files for binary ones."""
    settings = {
        "core.attributesFile": str(ATTRIBUTES),
        "core.fsmonitor": "false",
        "core.hooksPath": "/dev/null",
        "core.pager": "cat",
    }
    words = [f"GIT_CONFIG_COUNT={len(settings)}"]
    for n, (name, value) in enumerate(settings.items()):
        words += [f"GIT_CONFIG_KEY_{n}='{name}'", f"GIT_CONFIG_VALUE_{n}='{value}'"]
    return f"export {' '.join(words)}"

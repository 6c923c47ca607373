"""Which programs run code of the workspace, and nothing that a closed box would not hold.

Whether one of them runs is still asked about. But a person may allow them for a whole folder at
once: in a box without a network and without rights, what they can damage is that folder. What
loses content by a plain command, deletes, sends or starts another machine's programs is not here.
"""

import re
from collections.abc import Sequence

from hermes.core.grants import CODE, Template, is_beneath
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.words import Invocation

INTERPRETER = re.compile(
    r"python3?(?:\.\d{1,2})?|node|ruby|perl|php|lua|deno|bun|Rscript|bash|sh|dash"
)
BUILDERS = frozenset(
    {
        *("pytest", "py.test", "tox", "nox", "make", "cmake", "ctest", "ninja", "meson", "just"),
        *("gcc", "g++", "cc", "c++", "clang", "clang++", "rustc", "javac", "java", "ghc", "tsc"),
        *(
            "ruff",
            "black",
            "isort",
            "flake8",
            "pylint",
            "mypy",
            "pyright",
            "coverage",
            "sphinx-build",
        ),
        *("jest", "vitest", "mocha", "eslint", "prettier", "rspec", "phpunit", "mvn", "gradle"),
    }
)
# The first word decides; none of these fetches or publishes anything.
TASKS = {
    **dict.fromkeys(
        ("npm", "pnpm", "yarn"), frozenset({"test", "t", "run", "run-script", "start"})
    ),
    "cargo": frozenset({"build", "check", "test", "run", "clippy", "fmt", "bench", "doc"}),
    "go": frozenset({"build", "test", "vet", "run", "fmt"}),
    "dotnet": frozenset({"build", "test", "run", "format"}),
    "uv": frozenset({"run"}),
    "poetry": frozenset({"run"}),
}
# They add to a repository, and what was there stays in its history.
GIT = frozenset({"add", "commit", "init", "tag", "mv", "switch", "checkout", "branch", "stash"})
GIT_LOSES = re.compile(
    r"--|\.|-[a-zA-Z]*[dDfM].*|--(?:force|delete|discard-changes|orphan|amend|hard).*|drop|clear|pop"
)
NEW_BRANCH = {"checkout": "-b", "switch": "-c"}
OWN_PROGRAM = re.compile(r"\./[\w./+-]+")


def is_boxed_code(call: Invocation) -> bool:
    """Return True if a closed box holds all that this program can do."""
    words = [word.text or "" for word in call.words]
    if INTERPRETER.fullmatch(call.name) or call.name in BUILDERS:
        return True
    if call.name in TASKS:
        return bool(words) and words[0] in TASKS[call.name]
    if call.name == "git":
        return _only_adds(words, known=all(word.text is not None for word in call.words))
    return OWN_PROGRAM.fullmatch(call.name or call.spelled) is not None and ".." not in call.spelled


def code_template(place: CommandPlace, root: str) -> Template | None:
    """Return what stands for all such code in a folder; None outside of the workspace."""
    if not is_beneath(place.cwd, root):
        return None
    return Template(tool="terminal", program=CODE, workdir=root)


def _only_adds(words: Sequence[str], *, known: bool) -> bool:
    waiting = list(words)
    while waiting and waiting[0] in ("--no-pager", "-c"):
        del waiting[: 2 if waiting[0] == "-c" else 1]
    subcommand, *rest = waiting or [""]
    if not known or subcommand not in GIT:
        return False
    if subcommand in NEW_BRANCH and rest[:1] != [NEW_BRANCH[subcommand]]:
        return False
    if subcommand == "commit":  # -m takes any text
        return not any(word.startswith("--amend") for word in rest)
    if subcommand in ("add", "init"):
        return True
    return not any(GIT_LOSES.fullmatch(word) for word in rest)

"""Make the template of a shell command: what "always" and "for this session" would cover.

A template is one program with its words in their order, run in one folder. Only paths of the
workspace are left open, and only downwards. Interpreters and build tools get one in the few forms
that name what they run; everything else that runs code gets none.
"""

import re
from collections.abc import Iterator
from itertools import takewhile

from hermes.core.grants import PATH, Template, is_beneath
from hermes.tools.shell import programs as programs
from hermes.tools.shell.paths import CommandPlace, Zone, absolute, is_trap, zone_of
from hermes.tools.shell.verdict import Judgement

SUBCOMMANDS = frozenset({"git", "apt", "systemctl", "gh", "kubectl", "helm", "terraform"})
# Where one word decides what is lost: these are asked about each time.
NOT_ALWAYS = frozenset({"dd", "chmod", "chown", "kill", "pkill", "killall", "curl", "wget", "scp"})
EXAMPLES = 3

# Developers' programs. They run code of the workspace, which the sandbox holds.
INTERPRETER = re.compile(r"python3?|python3\.\d{1,2}|node|ruby|perl|php")
FLAGS = frozenset({"-u", "-B", "-O", "-OO", "-w"})  # that may stand before a script's name
MODULES = frozenset({"pytest", "unittest", "mypy", "ruff", "black", "flake8", "compileall"})
TESTERS = frozenset({"pytest", "py.test"})  # their operands are paths
# The first word must be one of these; none of them fetches or publishes anything.
TASKS = {
    "make": None,
    **dict.fromkeys(("npm", "pnpm", "yarn"), frozenset({"test", "run", "run-script", "start"})),
    "cargo": frozenset({"build", "check", "test", "run", "clippy", "fmt", "bench", "doc"}),
    "go": frozenset({"build", "test", "vet", "run", "fmt"}),
}
GLOB = re.compile(r"[*?\[\]]")


def template_of(judged: Judgement, place: CommandPlace) -> Template | None:
    """None for wrappers, shells and everything that is not one plain program."""
    if not judged.argv:
        return None
    name, *words = judged.argv
    if INTERPRETER.fullmatch(name):
        return _of_interpreter(name, words, place)
    if name in TASKS:
        return _of_task(name, words, place)
    if name in TESTERS:
        return _of_paths(name, words, place) if _is_inside(place) else None
    if name in programs.RUNNERS or name in programs.NEVER or name in NOT_ALWAYS:
        return None
    if name in SUBCOMMANDS:
        return _to_the_letter(name, words, place) if words and words[0][:1] != "-" else None
    return _of_paths(name, words, place)


def _of_interpreter(name: str, words: list[str], place: CommandPlace) -> Template | None:
    """A script of the workspace by its name, or a well-known module; never code in an argument."""
    flags = list(takewhile(FLAGS.__contains__, words))
    behind = words[len(flags) :]
    if not behind or not _is_inside(place):
        return None
    if behind[0] == "-m" and name.startswith("python"):
        known = len(behind) > 1 and behind[1] in MODULES
        return _of_paths(name, words, place, fixed=len(flags) + 2) if known else None
    script = behind[0]
    if script.startswith("-") or next(_paths([script], place), None) is None:
        return None
    return _of_paths(name, words, place, fixed=len(flags) + 1)


def _of_task(name: str, words: list[str], place: CommandPlace) -> Template | None:
    tasks = TASKS[name]
    fits = tasks is None or (bool(words) and words[0] in tasks)
    return _to_the_letter(name, words, place) if fits and _is_inside(place) else None


def _to_the_letter(name: str, words: list[str], place: CommandPlace) -> Template:
    return Template(tool="terminal", program=name, shape=tuple(words), workdir=place.cwd)


def _of_paths(name: str, words: list[str], place: CommandPlace, fixed: int = 0) -> Template | None:
    """The first `fixed` words and all options stay as they are; the others must be paths of the
    workspace."""
    shape, open_ = list(words), list[str]()
    for n, word in enumerate(words):
        if n >= fixed and not (word.startswith("-") and len(word) > 1):
            shape[n] = PATH
            open_.append(word)
    paths = tuple(_paths(open_, place))
    if len(paths) < len(open_):
        return None
    return Template(
        tool="terminal", program=name, shape=tuple(shape), paths=paths, workdir=place.cwd
    )


def _paths(words: list[str], place: CommandPlace) -> Iterator[str]:
    """Those of the workspace, without wildcards, that no other program runs later."""
    for word in words:
        full = absolute(word, place.cwd)
        ours = zone_of(word, place, place.cwd) is Zone.WORK and full != place.root
        if ours and not GLOB.search(word) and not is_trap(word, place, place.cwd):
            yield full


def _is_inside(place: CommandPlace) -> bool:
    """Is it run in the workspace?"""
    return is_beneath(place.cwd, place.root)


def examples(template: Template) -> tuple[str, ...]:
    """Other commands that it would cover, for the person who is about to say always."""
    made = []
    for inner in ("", "/anything"):
        paths = [f"{path}{inner}" for path in template.paths]
        words = [paths.pop(0) if word == PATH else word for word in template.shape]
        made.append(" ".join((template.program, *words)))
    return tuple(dict.fromkeys(made))[:EXAMPLES]

"""Check each program of a command line: is every word that it gets known to be harmless?"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from hermes.tools.shell import programs as programs
from hermes.tools.shell import readers as readers
from hermes.tools.shell.effect import git_only_reads
from hermes.tools.shell.git import git_prints_names, judge_git
from hermes.tools.shell.options import parse_options
from hermes.tools.shell.path_checker import PathChecker, short
from hermes.tools.shell.paths import may_be_private
from hermes.tools.shell.special_programs import (
    judge_carry,
    judge_command,
    judge_echo,
    judge_kill,
    judge_options,
    judge_pip,
    judge_printf,
    judge_read,
    judge_test,
    judge_unknown,
)
from hermes.tools.shell.text_tools import (
    judge_awk,
    judge_jq,
    judge_listing,
    judge_man,
    judge_sed,
    judge_set,
)
from hermes.tools.shell.words import HOLE, PLAIN_NAME, Invocation, Word
from hermes.views.cards import code

PS_WORDS = re.compile(r"[aux]+w*|\d+")
TIME = re.compile(r"\d{1,9}(?:\.\d+)?[smhd]?")
FOUND = Word(shape="./found")  # stands for a file that find will find
# With one of these find prints more than the names of what it has found.
SAYS_MORE = frozenset({"-printf", "-ls", "-exec"})
# Options with which a search prints names of files, and with `-l` nothing else.
LISTS = re.compile(r"-[rRilwEFIsn]*l[rRilwEFIsn]*|--files-with-matches")
FILTERS = re.compile(r"-[rRiwEFIs]+|--(?:include|exclude|exclude-dir)=.*")
TEXT_TOOLS: Mapping[str, Callable[[Invocation, PathChecker], None]] = {
    "echo": judge_echo,
    "printf": judge_printf,
    "read": judge_read,
    "test": judge_test,
    "command": judge_command,
    "kill": judge_kill,
    "cp": judge_carry,
    "mv": judge_carry,
    "pip": judge_pip,
    "pip3": judge_pip,
    "awk": judge_awk,
    "gawk": judge_awk,
    "mawk": judge_awk,
    "jq": judge_jq,
    "man": judge_man,
    "sed": judge_sed,
    "set": judge_set,
    "tar": judge_listing,
    "unzip": judge_listing,
}


class InvocationChecker:
    """All programs of one command line, in their order."""

    def __init__(self, checker: PathChecker) -> None:
        self.seen: list[Invocation] = []
        self.looks = False  # something was tested, which is harmless alone
        self._checker = checker
        self._reasons = checker.reasons

    def finish(self) -> None:
        self._checker.finish()
        names = {call.name for call in self.seen}
        if {"cd", "git"} <= names:
            self._reasons.ask_about_code(
                "`git` obeys files of its folder, and `cd` changes the folder here"
            )
        if not self.seen and not self.looks:
            self._reasons.ask("it names no program")

    def prints_names(self, call: Invocation) -> bool:
        """Does it print names of files of the workspace, and no more?"""
        roots = _names_below(call)
        safe = not any(may_be_private(word.shape) for word in call.words)
        return roots is not None and safe and all(self._checker.has("read", root) for root in roots)

    def judge(self, call: Invocation, before: Invocation | None = None) -> None:
        """`before` is what is piped into it, where that is one program."""
        self.seen.append(call)
        name = call.name
        if _asks_about_itself(call):
            return
        if name == "xargs":
            self._xargs(call, before)
        elif (known := _subcommand(call)) is not None:
            self._listed(*known)
        elif name in TEXT_TOOLS:
            TEXT_TOOLS[name](call, self._checker)
        elif name in programs.PROGRAMS:
            self._listed(programs.PROGRAMS[name], call)
        elif name == "cd":
            self._checker.go(call.words)
        elif name == "find":
            self._find(call)
        elif name == "git":
            self._git(call)
        elif name in programs.WRAPPERS:
            self._wrapped(call)
        else:
            unlisted = f"{code(name[:60])} is not on the list of safe commands"
            why = unlisted if name else "its program is only known when it runs"
            judge_unknown(call, self._checker, why)

    def _listed(self, program: programs.Program, call: Invocation) -> None:
        given = parse_options(program, call.words, counts=call.name in programs.COUNTS)
        judge_options(call.name, given, self._checker)
        operands = list(given.operands)
        if len(operands) > program.operands_max:
            self._reasons.ask(f"{call.name}: it has more words than are known to be safe")
        if call.name == "date":
            operands = [word for word in operands if not word.shape.startswith("+")]
            if operands:
                self._reasons.ask("`date` may set the clock")
        if call.name == "ps" and not all(PS_WORDS.fullmatch(word.shape) for word in operands):
            self._reasons.ask("`ps` may show what other programs were given")
        if call.name == "printenv" and any(
            re.fullmatch(programs.SENSITIVE_VARIABLE, word.shape) for word in operands
        ):
            self._reasons.ask("`printenv` may show a secret")
        if call.name == "ps" and any("env" in word.shape for _kind, word in given.values):
            self._reasons.ask("`ps` may show what other programs were given")
        if call.name in ("less", "more") and any(word.shape[:1] == "+" for word in operands):
            self._reasons.ask(f"{call.name}: it may run a command of its own")
        leading = 0 if given.options & programs.PATTERN_GIVEN else program.leading
        for n, word in enumerate(operands):
            if not program.loose and self._checker.may_be_option(word):
                self._reasons.ask(f"{call.name}: one of its words may become an option")
            self._checker.path(program.operands if n >= leading else "data", word, call.name)
            if call.name == "tee" and not given.options & {"-a", "--append"}:
                self._checker.overwrite(word, call.name)
        deep = call.name == "rg" or given.options & programs.RECURSIVE
        if program.leading and deep and len(operands) <= leading:
            self._checker.path("read", Word(shape="."), call.name)

    def _find(self, call: Invocation) -> None:
        waiting = list(call.words)
        while waiting and waiting[0].text in ("-H", "-L", "-P"):
            waiting.pop(0)
        roots = _roots(waiting)
        del waiting[: len(roots)]
        for root in roots:
            self._checker.path("names", root, "find")
            if root.may_be_option:
                self._reasons.ask("find: one of its words may become an option")
        while waiting:
            word = waiting.pop(0)
            if word.text in programs.FIND_WITH_VALUE and waiting:
                self._checker.path(programs.FIND_WITH_VALUE[word.text], waiting.pop(0), "find")
            elif word.text == "-exec":
                waiting = self._find_runs(waiting, roots, call)
            elif word.text not in programs.FIND_ALONE:
                self._reasons.ask(f"find: {short(word.shape)} is not known to be safe")

    def _find_runs(self, words: list[Word], roots: Sequence[Word], by: Invocation) -> list[Word]:
        """`-exec PROGRAM … {} ;` is that program with the files that were found."""
        ends = [n for n, word in enumerate(words) if word.text in (";", "+")]
        if not ends or not words or words[0].text is None:
            self._reasons.ask("find: what it would run is only known when it runs")
            return []
        inner = words[1 : ends[0]]
        found = [FOUND if word.text == "{}" else word for word in inner]
        self._given_on(words[0].text, found, roots, by)
        return words[ends[0] + 1 :]

    def _given_on(
        self, name: str, words: Sequence[Word], roots: Sequence[Word], by: Invocation
    ) -> None:
        """To a program that does nothing but read, whatever its words; and only what is ours."""
        if any(may_be_private(word.shape) for word in by.words):
            self._reasons.ask("it may open a file of keys or passwords")
        program = programs.PROGRAMS.get(name)
        fit = program is not None and program.loose and program.operands != "write"
        if not fit or any("{}" in word.shape for word in words):
            self._reasons.ask(f"{short(name)} gets words that are only known when it runs")
        if any(not self._checker.has("read", root) for root in roots):
            self._reasons.ask("it would open files outside of the workspace")
        self.judge(Invocation(name=name, words=tuple(words)))

    def _xargs(self, call: Invocation, before: Invocation | None) -> None:
        waiting = list(call.words)
        while waiting and (waiting[0].text or "").startswith("-"):
            option = waiting.pop(0).text or ""
            if option in programs.XARGS_WITH_VALUE and waiting:
                waiting.pop(0)
            elif option not in programs.XARGS_ALONE and not re.fullmatch(r"-[nLP]\d+", option):
                self._reasons.ask(f"xargs: the option {option} is not known to be safe")
        if not waiting or waiting[0].text in programs.PRINTERS:
            return
        roots = _names_below(before) if before is not None else None
        if before is None or roots is None or not waiting or waiting[0].text is None:
            judge_unknown(call, self._checker, "xargs runs what it is given")
            return
        name, words = waiting[0].text, waiting[1:]
        self._given_on(name, [*words, FOUND], roots, before)

    def _git(self, call: Invocation) -> None:
        literal = call.literal
        if literal is None or not git_only_reads(literal):
            judge_unknown(
                call, self._checker, "this `git` command may change something or send it out"
            )
        else:
            judge_git(literal, self._checker)

    def _wrapped(self, call: Invocation) -> None:
        """`time` and `timeout 5` start what comes behind them."""
        first = programs.WRAPPERS[call.name]
        words = call.words[first:]
        counts = all(TIME.fullmatch(word.text or "") for word in call.words[:first])
        name = words[0].text if words else None
        plain = name is not None and PLAIN_NAME.fullmatch(name) is not None
        if not counts or name is None or not plain or name in programs.WRAPPERS:
            judge_unknown(call, self._checker, f"`{call.name}` starts another program")
            return
        self.judge(Invocation(name=name, words=tuple(words[1:]), spelled=name))


def _asks_about_itself(call: Invocation) -> bool:
    """For its version or its help, and nothing else."""
    if len(call.words) != 1 or not call.name:
        return False
    word = call.words[0].text
    installed = call.name not in programs.NO_PROGRAMS and call.name not in programs.NEVER
    asks = installed and word in ("--version", "--help")
    return asks or word in readers.VERSIONS.get(call.name, ())


def _subcommand(call: Invocation) -> tuple[programs.Program, Invocation] | None:
    """A known subcommand of one or two words, and the rest of the words."""
    words = [word.text or "" for word in call.words[:2]]
    for count in (2, 1):
        program = programs.SUBCOMMANDS.get(" ".join([call.name, *words[:count]]))
        if program is not None and len(words) >= count:
            return program, Invocation(
                name=call.name, words=call.words[count:], spelled=call.spelled
            )
    return None


def _roots(words: Sequence[Word]) -> list[Word]:
    """Where find begins: the words before its first test."""
    return list(takewhile(lambda w: not w.shape.startswith(("-", "(", "!", HOLE)), words))


def _names_below(before: Invocation) -> list[Word] | None:
    """The folders in which lies everything that it names; None when it may print other words."""
    words = [word.text for word in before.words]
    if before.name == "git":
        return [Word(shape=".")] if git_prints_names(words) else None
    if before.name in ("grep", "rg"):
        return _searched(before)
    if before.name != "find" or SAYS_MORE & set(words):
        return None
    begin = next((n for n, text in enumerate(words) if text not in ("-H", "-L", "-P")), 0)
    return _roots(before.words[begin:]) or [Word(shape=".")]


def _searched(before: Invocation) -> list[Word] | None:
    """Where a search looks that prints nothing but names."""
    options = [word.shape for word in before.words if word.shape.startswith("-")]
    operands = [word for word in before.words if not word.shape.startswith("-")]
    lists = any(LISTS.fullmatch(option) for option in options)
    plain = all(LISTS.fullmatch(option) or FILTERS.fullmatch(option) for option in options)
    if not lists or not plain or not operands or operands[0].may_be_option:
        return None
    return operands[1:] or [Word(shape=".")]

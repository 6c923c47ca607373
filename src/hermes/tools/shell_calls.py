"""One program with its words: is every word of it known to be harmless?"""

import re
from collections.abc import Callable, Mapping, Sequence
from itertools import takewhile

from hermes.tools import shell_programs as programs
from hermes.tools import shell_readers as readers
from hermes.tools.shell_effect import git_only_reads
from hermes.tools.shell_options import Given, given_to
from hermes.tools.shell_paths import is_temporary, is_trap, may_be_private
from hermes.tools.shell_reach import Reach, short
from hermes.tools.shell_texts import judge_awk, judge_jq, judge_listing, judge_sed
from hermes.tools.shell_words import HOLE, Call, Word

PS_WORDS = re.compile(r"[aux]+w*|\d+")
VERIFIES = re.compile(r"%G|%\(signature")
NO_FORMAT = "printf: its format is only known when it runs"
FOUND = Word(shape="./found")  # stands for a file that find will find
# With one of these find prints more than the names of what it has found.
SAYS_MORE = frozenset({"-printf", "-ls", "-exec"})
# Options with which `git ls-files` prints names of files and nothing else.
ONLY_NAMES = re.compile(r"-[zcmod]+|--(?:cached|modified|others|deleted|exclude-standard)|[^-].*")
TEXT_TOOLS: Mapping[str, Callable[[Call, Reach], None]] = {
    "awk": judge_awk,
    "gawk": judge_awk,
    "mawk": judge_awk,
    "jq": judge_jq,
    "sed": judge_sed,
    "tar": judge_listing,
    "unzip": judge_listing,
}


class Calls:
    """All programs of one command line, in their order."""

    def __init__(self, reach: Reach) -> None:
        self.seen: list[Call] = []
        self.looks = False  # something was tested, which is harmless alone
        self._reach = reach
        self._reasons = reach.reasons
        self._ways: Mapping[str, Callable[[Call], None]] = {
            "": lambda call: self._unknown(call, "its program is only known when it runs"),
            "cd": lambda call: reach.go(call.words),
            "echo": self._echo,
            "printf": self._printf,
            "read": self._read,
            "test": self._test,
            "command": self._command,
            "find": self._find,
            "git": self._git,
            "kill": self._kill,
            "cp": self._carry,
            "mv": self._carry,
            **dict.fromkeys(("pip", "pip3"), self._pip),
            **dict.fromkeys(TEXT_TOOLS, self._text_tool),
            **dict.fromkeys(programs.PROGRAMS.keys() - {"test"}, self._table),
        }

    def finish(self) -> None:
        self._reach.finish()
        names = {call.name for call in self.seen}
        if {"cd", "git"} <= names:
            self._reasons.ask("git obeys the files of the place that it is in, which changes here")
        if not self.seen and not self.looks:
            self._reasons.ask("there is no program in it")

    def judge(self, call: Call, before: Call | None = None) -> None:
        """`before` is what is piped into it, where that is one program."""
        self.seen.append(call)
        words = [word.text for word in call.words]
        if len(words) == 1 and words[0] in readers.VERSIONS.get(call.name, ()):
            return
        if call.name == "xargs":
            self._xargs(call, before)
        elif call.name in self._ways:
            self._ways[call.name](call)
        else:
            self._unknown(call, f"{short(call.name)} is not known to be harmless")

    def _echo(self, call: Call) -> None:
        for word in call.words:
            self._reach.path("data", word, call.name)

    def _printf(self, call: Call) -> None:
        self._echo(call)
        if not call.words or call.words[0].may_be_option:
            self._reasons.ask(NO_FORMAT)

    def _read(self, call: Call) -> None:
        names = [word.text or "" for word in call.words]
        names = names[1:] if names[:1] == ["-r"] else names
        if not all(re.fullmatch(readers.LOOP_NAME, name) for name in names):
            self._reasons.ask("read: it sets what a shell may act on")
        self._reach.spoil(names)

    def _command(self, call: Call) -> None:
        if [word.text for word in call.words[:1]] not in (["-v"], ["-V"]):
            self._unknown(call, "command runs what it is given")

    def _pip(self, call: Call) -> None:
        words = call.literal
        if words is None or words[0] not in readers.PIP or any(w.startswith("-") for w in words):
            self._unknown(call, f"{call.name} runs what it installs")

    def _kill(self, call: Call) -> None:
        own = {"PPID"} & {word.variable for word in call.words}
        if own or {"-1", "0", "1"} & {word.shape for word in call.words}:
            self._reasons.refuse("it would end what it runs under")
        self._unknown(call, "kill ends processes")

    def _text_tool(self, call: Call) -> None:
        TEXT_TOOLS[call.name](call, self._reach)

    def _unknown(self, call: Call, why: str) -> None:
        runner = call.name in programs.RUNNERS
        self._reasons.ask(f"{call.name} runs other programs or code" if runner else why)
        for word in call.words:
            self._reach.refuse_secret(word)
        if call.name in programs.NEVER or call.name.startswith("mkfs."):
            self._reasons.refuse(f"{call.name} is for the machine's owner alone")
        texts = [word.shape for word in call.words]
        if call.name in programs.ENGINES and _gives_host_away(texts):
            self._reasons.refuse(f"{call.name} would give the whole machine away")

    def _table(self, call: Call) -> None:
        program = programs.PROGRAMS[call.name]
        given = given_to(program, call.words, counts=call.name in programs.COUNTS)
        self._options(call.name, given)
        operands = list(given.operands)
        if len(operands) > program.operands_max:
            self._reasons.ask(f"{call.name}: more words than it can take harmlessly")
        if call.name == "date":
            operands = [word for word in operands if not word.shape.startswith("+")]
            if operands:
                self._reasons.ask("date: it may set the clock")
        if call.name == "ps" and not all(PS_WORDS.fullmatch(word.shape) for word in operands):
            self._reasons.ask("ps: it may show what others were given")
        if call.name == "printenv" and any(
            re.fullmatch(programs.SENSITIVE_VARIABLE, word.shape) for word in operands
        ):
            self._reasons.ask("printenv: it may show a secret")
        if call.name == "ps" and any("env" in word.shape for _kind, word in given.values):
            self._reasons.ask("ps: it may show what others were given")
        leading = 0 if given.options & programs.PATTERN_GIVEN else program.leading
        for n, word in enumerate(operands):
            if not program.loose and self._reach.may_be_option(word):
                self._reasons.ask(f"{call.name}: a word that may become an option")
            self._reach.path(program.operands if n >= leading else "data", word, call.name)
        deep = call.name == "rg" or given.options & programs.RECURSIVE
        if program.leading and deep and len(operands) <= leading:
            self._reach.path("read", Word(shape="."), call.name)

    def _options(self, name: str, given: Given) -> None:
        for option in given.unknown:
            self._reasons.ask(f"{name}: the option {short(option)} is not known to be harmless")
        for kind, word in given.values:
            self._reach.path(kind, word, name)
            if may_be_private(word.shape):
                self._reasons.ask(f"{name}: {short(word.shape)} is a name for keys or secrets")

    def _carry(self, call: Call) -> None:
        program = programs.CARRIERS[call.name]
        given = given_to(program, call.words)
        self._options(call.name, given)
        *sources, target = given.operands or (Word(shape=HOLE),)
        for word in sources:
            self._reach.path(program.operands, word, call.name)
        self._reach.path("write", target, call.name)
        if not sources or any(word.may_be_option for word in given.operands):
            self._reasons.ask(f"{call.name}: it is not clear what goes where")
        if call.name == "mv" and is_temporary(target.shape, self._reach.place):
            self._reasons.ask("mv: temporary files are gone with the command")
        deep = bool(given.options & programs.RECURSIVE)
        ends = {word.shape.rstrip("/").rpartition("/")[2] for word in sources}
        if any(
            is_trap(end, self._reach.place, self._reach.place.root)
            for end in ends - {"", ".", ".."}
        ):
            self._reasons.ask(f"{call.name}: it would carry what runs later")
        spread = any(word.glob for word in sources) and target.text in (".", "./")
        if spread or (deep and ends & {"", ".", ".."}):
            self._reasons.ask(f"{call.name}: it would carry hidden files along")

    def _test(self, call: Call) -> None:
        words, literal = call.words, call.literal
        tests = readers.BRACKET_TESTS["["]
        for word in words:
            self._reach.refuse_secret(word)
            if word.text is not None and word.text.startswith(("-", "(", "!")):
                if word.text not in tests:
                    self._reasons.ask(f"the test {word.text} may run something")
            elif word.text is None and not word.quoted:
                self._reasons.ask("a test of what is only known when it runs")
        if literal is None and any(word.may_be_option and not word.quoted for word in words):
            self._reasons.ask("a test of what is only known when it runs")

    def _find(self, call: Call) -> None:
        waiting = list(call.words)
        while waiting and waiting[0].text in ("-H", "-L", "-P"):
            waiting.pop(0)
        roots = _roots(waiting)
        del waiting[: len(roots)]
        for root in roots:
            self._reach.path("names", root, "find")
            if root.may_be_option:
                self._reasons.ask("find: a word that may become an option")
        while waiting:
            word = waiting.pop(0)
            if word.text in programs.FIND_WITH_VALUE and waiting:
                self._reach.path(programs.FIND_WITH_VALUE[word.text], waiting.pop(0), "find")
            elif word.text == "-exec":
                waiting = self._find_runs(waiting, roots, call)
            elif word.text not in programs.FIND_ALONE:
                self._reasons.ask(f"find: {short(word.shape)} is not known to be harmless")

    def _find_runs(self, words: list[Word], roots: Sequence[Word], by: Call) -> list[Word]:
        """`-exec PROGRAM … {} ;` is that program with the files that were found."""
        ends = [n for n, word in enumerate(words) if word.text in (";", "+")]
        if not ends or not words or words[0].text is None:
            self._reasons.ask("find: what it would run is only known when it runs")
            return []
        inner = words[1 : ends[0]]
        found = [FOUND if word.text == "{}" else word for word in inner]
        self._given_on(words[0].text, found, roots, by)
        return words[ends[0] + 1 :]

    def _given_on(self, name: str, words: Sequence[Word], roots: Sequence[Word], by: Call) -> None:
        """To a program that does nothing but read, whatever its words; and only what is ours."""
        if any(may_be_private(word.shape) for word in by.words):
            self._reasons.ask("what has a name for keys or secrets would be opened")
        program = programs.PROGRAMS.get(name)
        fit = program is not None and program.loose and program.operands != "write"
        if not fit or any("{}" in word.shape for word in words):
            self._reasons.ask(f"{short(name)} would get words that are only known when it runs")
        if any(not self._reach.has("read", root) for root in roots):
            self._reasons.ask("what was found outside of the workspace would be opened")
        self.judge(Call(name=name, words=tuple(words)))

    def _xargs(self, call: Call, before: Call | None) -> None:
        waiting = list(call.words)
        while waiting and (waiting[0].text or "").startswith("-"):
            option = waiting.pop(0).text or ""
            if option in programs.XARGS_WITH_VALUE and waiting:
                waiting.pop(0)
            elif option not in programs.XARGS_ALONE and not re.fullmatch(r"-[nLP]\d+", option):
                self._reasons.ask(f"xargs: the option {option} is not known to be harmless")
        roots = _names_below(before) if before is not None else None
        if before is None or roots is None or not waiting or waiting[0].text is None:
            self._unknown(call, "xargs runs what it is given")
            return
        name, words = waiting[0].text, waiting[1:]
        self._given_on(name, [*words, FOUND], roots, before)

    def _git(self, call: Call) -> None:
        literal = call.literal
        if literal is None or not git_only_reads(literal):
            self._unknown(call, "git: this may change something or leave the machine")
            return
        for word in literal:
            long, brief = word.partition("=")[0], re.fullmatch(programs.GIT_SHORT, word)
            if word.startswith("--") and word != "--":
                if long not in programs.GIT_LONG and long not in readers.GIT_FLAGS:
                    self._reasons.ask(f"git: the option {short(long)} is not known to be harmless")
            elif word.startswith("-") and len(word) > 1 and word != "--":
                if not brief:
                    self._reasons.ask(f"git: the option {short(word)} is not known to be harmless")
            elif word.startswith(("/", "~")) or ".." in word.split("/"):
                self._reach.path("read", Word(shape=word), "git")
            if VERIFIES.search(word):
                self._reasons.ask("git: to show a signature it runs a program")


def _roots(words: Sequence[Word]) -> list[Word]:
    """Where find begins: the words before its first test."""
    return list(takewhile(lambda w: not w.shape.startswith(("-", "(", "!", HOLE)), words))


def _names_below(before: Call) -> list[Word] | None:
    """The folders in which lies everything that it names; None when it may print other words."""
    words = [word.text for word in before.words]
    if before.name == "git" and words[:1] == ["ls-files"]:
        plain = all(word is not None and ONLY_NAMES.fullmatch(word) for word in words[1:])
        return [Word(shape=".")] if plain else None
    if before.name != "find" or SAYS_MORE & set(words):
        return None
    begin = next((n for n, text in enumerate(words) if text not in ("-H", "-L", "-P")), 0)
    return _roots(before.words[begin:]) or [Word(shape=".")]


def _gives_host_away(words: Sequence[str]) -> bool:
    if {"--privileged", "--pid=host", "--network=host", "--net=host"} & set(words):
        return True
    mounts = [word.rpartition("=")[2] for word in words]
    whole = r"/(?:etc|root|home|proc|sys|var/run)?/?(?::.*)?|.*docker\.sock.*"
    return any(re.fullmatch(whole, mount) for mount in mounts)

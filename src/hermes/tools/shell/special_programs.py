"""Check programs that need more than a table: echo, printf, read, test, cp, mv, kill, pip."""

import re
from collections.abc import Sequence

from hermes.tools.shell import programs as programs
from hermes.tools.shell import readers as readers
from hermes.tools.shell.boxed_code import is_boxed_code
from hermes.tools.shell.options import ParsedOptions, parse_options
from hermes.tools.shell.overwrites import EMPTIES
from hermes.tools.shell.path_checker import PathChecker, short
from hermes.tools.shell.paths import is_temporary, is_trap, may_be_private
from hermes.tools.shell.words import HOLE, Invocation, Word

NO_FORMAT = "printf: its format is only known when it runs"


def judge_echo(call: Invocation, checker: PathChecker) -> None:
    for word in call.words:
        checker.path("data", word, call.name)


def judge_printf(call: Invocation, checker: PathChecker) -> None:
    judge_echo(call, checker)
    if not call.words or call.words[0].may_be_option:
        checker.reasons.ask(NO_FORMAT)


def judge_read(call: Invocation, checker: PathChecker) -> None:
    names = [word.text or "" for word in call.words]
    names = names[1:] if names[:1] == ["-r"] else names
    if not all(re.fullmatch(readers.LOOP_NAME, name) for name in names):
        checker.reasons.ask("`read` sets a variable that the shell may act on")
    checker.spoil(names)


def judge_command(call: Invocation, checker: PathChecker) -> None:
    if [word.text for word in call.words[:1]] not in (["-v"], ["-V"]):
        judge_unknown(call, checker, "command runs what it is given")


def judge_pip(call: Invocation, checker: PathChecker) -> None:
    words = call.literal
    known = words and words[0] in readers.PIP
    if not known or any(w[:1] == "-" and w not in readers.PIP_FLAGS for w in words or ()):
        judge_unknown(call, checker, f"{call.name} runs what it installs")


def judge_kill(call: Invocation, checker: PathChecker) -> None:
    own = {"PPID"} & {word.variable for word in call.words}
    if own or {"-1", "0", "1"} & {word.shape for word in call.words}:
        checker.reasons.refuse("it would end the program that runs it")
    judge_unknown(call, checker, "kill ends processes")


def judge_unknown(call: Invocation, checker: PathChecker, why: str) -> None:
    runner = call.name in programs.RUNNERS
    asks = checker.reasons.ask_about_code if is_boxed_code(call) else checker.reasons.ask
    asks(f"`{call.name}` can run any code" if runner else why)
    for word in call.words:
        checker.refuse_secret(word)
    if call.name in programs.NEVER or call.name.startswith("mkfs."):
        checker.reasons.refuse(f"{call.name} is for the machine's owner alone")
    texts = [word.shape for word in call.words]
    if call.name in programs.ENGINES and _gives_host_away(texts):
        checker.reasons.refuse(f"{call.name} would give the whole machine away")


def judge_carry(call: Invocation, checker: PathChecker) -> None:
    program = programs.CARRIERS[call.name]
    given = parse_options(program, call.words)
    judge_options(call.name, given, checker)
    *sources, target = given.operands or (Word(shape=HOLE),)
    for word in sources:
        checker.path(program.operands, word, call.name)
    checker.path("write", target, call.name)
    _demand_no_loss(checker, call.name, given, sources, target)
    if not sources or any(word.may_be_option for word in given.operands):
        checker.reasons.ask(f"{call.name}: it is not clear which file goes where")
    if (
        call.name == "mv"
        and not checker.place.scratch
        and is_temporary(target.shape, checker.place)
    ):
        checker.reasons.ask("mv: temporary files are gone with the command")
    deep = bool(given.options & programs.RECURSIVE)
    ends = {word.shape.rstrip("/").rpartition("/")[2] for word in sources}
    if any(is_trap(end, checker.place, checker.place.root) for end in ends - {"", ".", ".."}):
        checker.reasons.ask(f"{call.name}: it would copy files that run later")
    spread = any(word.glob for word in sources) and target.text in (".", "./")
    if spread or (deep and ends & {"", ".", ".."}):
        checker.reasons.ask(f"{call.name}: it would copy hidden files, too")


def _demand_no_loss(
    checker: PathChecker, name: str, given: ParsedOptions, sources: Sequence[Word], target: Word
) -> None:
    """The target, or, where that is a folder, what has the same name there."""
    if given.options & {"-n", "--no-clobber"} or target.text is None:
        return
    if any(word.shape == "/dev/null" for word in sources):
        checker.reasons.ask(EMPTIES)
    if name == "mv" and given.options & {"-f", "--force"}:
        checker.reasons.ask("`mv -f` overwrites what is there")
    deep = name == "mv" or bool(given.options & programs.RECURSIVE)
    places = [(target, deep and name != "mv")]
    for word in sources:
        end = word.shape.rstrip("/").rpartition("/")[2]
        if word.text is None:
            checker.reasons.ask(f"{name}: what it would overwrite is only known when it runs")
        elif end not in ("", ".", ".."):
            places.append((Word(shape=f"{target.text.rstrip('/') or '/'}/{end}"), deep))
    for word, any_kind in places:
        checker.overwrite(word, name, any_kind=any_kind)
    if deep:
        checker.overwrites.bring(target.text, checker.cwds)


def judge_test(call: Invocation, checker: PathChecker) -> None:
    words, literal = call.words, call.literal
    tests = readers.BRACKET_TESTS["["]
    for word in words:
        checker.refuse_secret(word)
        if word.text is not None and word.text.startswith(("-", "(", "!")):
            if word.text not in tests:
                checker.reasons.ask(f"the test {word.text} may run something")
        elif word.text is None and not word.quoted:
            checker.reasons.ask("it tests a value that is only known when it runs")
    if literal is None and any(word.may_be_option and not word.quoted for word in words):
        checker.reasons.ask("it tests a value that is only known when it runs")


def judge_options(name: str, given: ParsedOptions, checker: PathChecker) -> None:
    for option in given.unknown:
        checker.reasons.ask(f"{name}: the option {short(option)} is not known to be safe")
    for kind, word in given.values:
        checker.path(kind, word, name)
        if may_be_private(word.shape):
            checker.reasons.ask(f"{name}: {short(word.shape)} is a name for keys or secrets")


def _gives_host_away(words: Sequence[str]) -> bool:
    if {"--privileged", "--pid=host", "--network=host", "--net=host"} & set(words):
        return True
    mounts = [word.rpartition("=")[2] for word in words]
    whole = r"/(?:etc|root|home|proc|sys|var/run)?/?(?::.*)?|.*docker\.sock.*"
    return any(re.fullmatch(whole, mount) for mount in mounts)

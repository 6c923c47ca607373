"""Decide whether a shell command only reads. Every doubt counts as an effect.

Everything is an allow-list: kinds of syntax, separators, programs, their options, redirections.
The answer saves questions and lets an interrupted reader run again; the sandbox is the boundary.
"""

import re
from collections.abc import Sequence

from hermes.core.messages import Effect
from hermes.tools.shell import readers as known
from hermes.tools.shell import syntax
from hermes.tools.shell.parser import Unclear
from hermes.tools.shell.tree import program_of

PLAIN_EXPANSION = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", re.ASCII)
GLOB = re.compile(r"[*?\[\]{}]")
DESCRIPTORS = frozenset({"0", "1", "2"})
MAY_WRITE = (syntax.Unsupported, syntax.Heredoc, syntax.VariableAssignment, syntax.Arithmetic)


def effect_of_command(command: str) -> Effect:
    """READ for readers; IDEMPOTENT when it moves the session besides; EFFECT for all else."""
    try:
        return effect_of_program(program_of(command))
    except Unclear:
        return Effect.EFFECT


def effect_of_program(program: syntax.Compound) -> Effect:
    """Ask each part of the program on its own; the order does not matter."""
    if not all(map(_reads, syntax.everything_in(program))):
        return Effect.EFFECT
    parts = syntax.everything_in(program)
    names = {part.text for part in parts if isinstance(part, syntax.CommandName)}
    if {"cd", "git"} <= names:  # git obeys the files of the place it is in
        return Effect.EFFECT
    return Effect.IDEMPOTENT if "cd" in names else Effect.READ


def _reads(part: syntax.Syntax) -> bool:
    """Does it only read, as far as it is not for its own parts to say?"""
    match part:
        case syntax.Token() | syntax.BareText() | syntax.QuotedText():
            return True
        case syntax.SimpleCommand():
            return _command_reads(part)
        case syntax.Redirection():
            return _redirection_reads(part)
        case syntax.BracketTest():
            return _test_reads(part)
        case syntax.ForLoop():
            named = re.fullmatch(known.LOOP_NAME, part.variable) is not None
            return named and _has_plain_tokens(part)
        case syntax.Compound():
            return part.kind in known.STATEMENTS and _has_plain_tokens(part)
        case syntax.Substitution():
            return _has_plain_tokens(part)
        case syntax.Comment() | syntax.CommandName():
            return part.plain
        case syntax.Variable():
            return part.text[1] != "{" or PLAIN_EXPANSION.fullmatch(part.text) is not None
        case syntax.BraceRange():
            return not part.text.startswith("-")
        case _:
            return not isinstance(part, MAY_WRITE)


def _has_plain_tokens(part: syntax.Syntax) -> bool:
    return all(token.sign in known.SEPARATORS for token in part.all_of(syntax.Token))


def _test_reads(test: syntax.BracketTest) -> bool:
    for part in test.parts:
        if isinstance(part, syntax.Token):
            if part.sign not in known.BRACKET_TESTS[test.bracket]:
                return False
        elif test.bracket == "[[" or (isinstance(part, syntax.JoinedText) and part.quoted):
            continue
        elif _text(part) is None:
            return False
    return True


def _redirection_reads(redirection: syntax.Redirection) -> bool:
    """Nothing but reading a file, and sending output nowhere or to where other output goes."""
    if len(redirection.parts) != 1:
        return False
    target, operator = redirection.parts[0], redirection.operator
    if operator == "<<<":
        return True
    text = _text(target) if isinstance(target, syntax.BareText) else None
    match operator:
        case ">" | ">>" | "&>" | "&>>":
            return text == "/dev/null"
        case ">&":
            return text in DESCRIPTORS
        case "<":
            return text == "/dev/null" or not (text or "/dev/").startswith("/dev/")
        case _:
            return False


def _command_reads(command: syntax.SimpleCommand) -> bool:
    name, words = "", list[str | None]()
    for part in command.parts:
        if isinstance(part, syntax.CommandName):
            name = part.text
        elif isinstance(part, syntax.Token):
            return False
        elif not isinstance(part, syntax.Redirection):
            words.append(_text(part))
    return _only_reads(name, words)


def _text(word: syntax.Syntax) -> str | None:
    """None when it is only known after expansion. What a glob begins may become anything, an option
    too."""
    match word:
        case syntax.BareText(text=text):
            if GLOB.match(text) or (text.startswith("-") and GLOB.search(text)):
                return None
            return re.sub(r"\\(.)", r"\1", text) if "\\" in text else text
        case syntax.QuotedText():
            return word.text
        case syntax.Substitution(process=True):
            return "/dev/fd/63"
        case syntax.BraceList():
            return _text(word.parts[0])
        case syntax.JoinedText():
            pieces = [piece for part in word.parts if (piece := _text(part)) is not None]
            joined = "".join(pieces)
            known_now = len(pieces) == len(word.parts)
            return joined if known_now and (word.quoted or not GLOB.match(joined)) else None
        case _:
            return None


def _only_reads(name: str, words: Sequence[str | None]) -> bool:
    literal = [word for word in words if word is not None]
    exact = len(literal) == len(words)
    match name:
        case "cd":
            return len(words) <= 1 and literal != ["-"]
        case "test":
            tests = known.BRACKET_TESTS["["]
            return exact and all(w in tests for w in literal if w.startswith(("-", "(", "!")))
        case "command":
            return exact and literal[:1] in (["-v"], ["-V"])
        case "read":
            names = literal[1:] if literal[:1] == ["-r"] else literal
            return exact and all(re.fullmatch(known.LOOP_NAME, word) for word in names)
        case "sed":
            return exact and _sed_only_prints(literal)
        case "xargs":
            return exact and _xargs_only_reads(literal)
        case "git":
            return exact and (git_only_reads(literal) or literal == ["--version"])
        case "pip" | "pip3" if literal and literal[0] in known.PIP:
            return exact and _fits(known.PIP[literal[0]], words[1:])
    if name in known.VERSIONS and exact and len(literal) == 1:
        return literal[0] in known.VERSIONS[name]
    return name in known.READERS and _fits(known.READERS[name], words)


def _fits(reader: known.ReadOnlyProgram, words: Sequence[str | None]) -> bool:
    """No option that does more than read, and no more operands than are only read."""
    operands = _operands(reader, words)
    if operands is None:
        return False
    match reader.operands:
        case "none":
            return not operands
        case "one":
            return len(operands) <= 1
        case "format":
            return all(operand.startswith("+") for operand in operands)
        case "any":
            return True


def _operands(reader: known.ReadOnlyProgram, words: Sequence[str | None]) -> list[str] | None:
    """What is no option; None when an option, or a word that may become one, is not welcome."""
    operands: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word is None:
            if not reader.loose:
                return None
        elif word in reader.takes:
            next(waiting, None)
        elif word.startswith("-") and len(word) > 1:
            if word not in reader.fine and _is_one_of(word, reader.never):
                return None
        else:
            operands.append(word)
            if reader.leading:
                break
    return operands


def _is_one_of(option: str, never: Sequence[str]) -> bool:
    name = option.partition("=")[0]
    for bad in never:
        if bad.startswith("--"):
            if name.startswith("--") and bad.startswith(name) and name != "--":
                return True
        elif len(bad) > 2:
            if option == bad:
                return True
        elif not name.startswith("--") and bad[1:] in option[1:]:
            return True
    return False


def git_only_reads(words: Sequence[str]) -> bool:
    rest = list(words)
    while rest and rest[0] in known.GIT_FLAGS:
        rest.pop(0)
    if not rest or rest[0] not in known.GIT:
        return False
    if rest[0] == "config" and len(rest) == 2 and re.fullmatch(known.CONFIG_NAME, rest[1]):
        return True
    subcommand, rest = known.GIT[rest[0]], rest[1:]
    while rest and rest[0] in known.GIT_SKIPPED:
        rest.pop(0)
    if any(word.startswith("-") and _is_one_of(word, subcommand.never) for word in rest):
        return False
    if subcommand.needs:
        counts = subcommand.bare and len(rest) == 1 and re.fullmatch(r"-\d+", rest[0]) is not None
        return counts or (rest[0] in subcommand.needs if rest else subcommand.bare)
    operands = any(not word.startswith("-") for word in rest)
    return not subcommand.listing or not operands or rest[0] in subcommand.listing


def _sed_only_prints(words: Sequence[str]) -> bool:
    """`sed -n 10,20p file`, the only script that is plain enough."""
    if len(words) < 2 or words[0] != "-n" or not re.fullmatch(known.SED_PRINTS, words[1]):
        return False
    return not any(word.startswith("-") for word in words[2:])


def _xargs_only_reads(words: Sequence[str]) -> bool:
    """A program that only reads whatever its arguments are may get them from anywhere."""
    rest = list(words)
    while rest and rest[0] in known.XARGS_FLAGS:
        rest.pop(0)
    if rest[:1] == ["-n"]:
        rest = rest[2:]
    return bool(rest) and known.READERS.get(rest[0], known.ReadOnlyProgram(never=("-",))).loose

"""Does a shell command only read? Decided by its syntax tree, and no whenever that is not certain.

Everything is an allow-list: kinds of nodes, separators, programs, their options, redirections.
This saves questions and lets lost readers run again; it is no boundary, the sandbox is.
"""

import re
from collections.abc import Sequence

from msgspec import Struct
from tree_sitter import Node

from hermes.core.messages import Effect
from hermes.tools import shell_readers as known
from hermes.tools.shell_syntax import DEPTH_MAX, Unclear, tree_of
from hermes.tools.shell_syntax import raw_of as _raw
from hermes.tools.shell_syntax import text_of as _text

PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+:-]+", re.ASCII)
PLAIN_EXPANSION = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}", re.ASCII)
GLOB = re.compile(r"[*?\[\]{}]")
DESCRIPTORS = frozenset({"0", "1", "2"})

SEPARATORS = frozenset({"\n", *known.SEPARATORS})


class NotAReader(Exception):
    """Something in it may do more than read, or is not understood."""


class Word(Struct, frozen=True):
    """A word of a command; `text` is None when it is only known after expansion."""

    text: str | None
    quoted: bool = False


def effect_of_command(command: str) -> Effect:
    """READ for readers; IDEMPOTENT when it moves the session besides; EFFECT for all else."""
    try:
        return effect_of_tree(tree_of(command))
    except Unclear:
        return Effect.EFFECT


def effect_of_tree(root: Node) -> Effect:
    try:
        return _Walk().command_line(root)
    except NotAReader:
        return Effect.EFFECT


def _demand(fine: bool) -> None:
    if not fine:
        raise NotAReader


class _Walk:
    """One pass over one command line."""

    def __init__(self) -> None:
        self._moves = False
        self._uses_git = False

    def command_line(self, root: Node) -> Effect:
        self._statement(root, 0)
        _demand(not (self._moves and self._uses_git))  # git obeys the files of the place it is in
        return Effect.IDEMPOTENT if self._moves else Effect.READ

    def _statement(self, node: Node, depth: int) -> None:
        _demand(depth < DEPTH_MAX)
        match node.type:
            case "command":
                self._command(node, depth)
            case "redirected_statement":
                for child in node.children:
                    redirects = child.type in ("file_redirect", "herestring_redirect")
                    (self._redirect if redirects else self._statement)(child, depth + 1)
            case "for_statement":
                self._loop(node, depth)
            case "test_command":
                self._test(node, depth)
            case "comment":
                _demand(b"\\" not in _raw(node))
            case "file_redirect":  # $(<file)
                self._redirect(node, depth)
            case kind:
                _demand(kind in known.STATEMENTS if node.is_named else kind in SEPARATORS)
                for child in node.children:
                    self._statement(child, depth + 1)

    def _loop(self, node: Node, depth: int) -> None:
        for child in node.children:
            match child.type:
                case "variable_name":
                    _demand(re.fullmatch(known.LOOP_NAME, _text(child)) is not None)
                case "do_group" | "compound_statement":
                    self._statement(child, depth + 1)
                case _ if child.is_named:
                    self._word(child, depth + 1)
                case kind:
                    _demand(kind in SEPARATORS)

    def _test(self, node: Node, depth: int) -> None:
        bracket = node.children[0].type
        allowed = known.BRACKET_TESTS[bracket]
        waiting = list(node.children)
        while waiting:
            part = waiting.pop()
            if part.type in ("unary_expression", "binary_expression", "parenthesized_expression"):
                waiting += part.children
            elif part.type == "test_operator" or not part.is_named:
                _demand(_text(part) in allowed)
            else:
                word = self._word(part, depth + 1)
                _demand(word.text is not None or word.quoted or bracket == "[[")

    def _redirect(self, node: Node, depth: int) -> None:
        """Nothing but reading a file, and sending output nowhere or to where other output goes."""
        kinds = [child.type for child in node.children if not child.is_named]
        words = [child for child in node.named_children if child.type != "file_descriptor"]
        _demand(len(kinds) == 1 and len(words) == 1)
        word = self._word(words[0], depth + 1)
        _demand(kinds[0] == "<<<" or words[0].type in ("word", "number"))
        match kinds[0]:
            case ">" | ">>" | "&>" | "&>>":
                _demand(word.text == "/dev/null")
            case ">&":
                _demand(word.text in DESCRIPTORS)
            case "<":
                target = word.text or "/dev/"
                _demand(target == "/dev/null" or not target.startswith("/dev/"))
            case kind:
                _demand(kind == "<<<")

    def _command(self, node: Node, depth: int) -> None:
        name, words = "", list[Word]()
        for child in node.children:
            if child.type == "command_name":
                name = _text(child)
                _demand(child.named_children[0].type == "word")
                _demand(PLAIN_NAME.fullmatch(name) is not None)
            elif child.type in ("file_redirect", "herestring_redirect"):
                self._redirect(child, depth + 1)
            else:
                _demand(bool(name))
                words.append(self._word(child, depth + 1))
        self._moves = self._moves or name == "cd"
        self._uses_git = self._uses_git or name == "git"
        _demand(_only_reads(name, words))

    def _word(self, node: Node, depth: int) -> Word:
        _demand(depth < DEPTH_MAX and node.is_named)
        match node.type:
            case "word" | "number" | "extglob_pattern":
                return _literal(_text(node))
            case "raw_string":
                return Word(_text(node)[1:-1], quoted=True)
            case "ansi_c_string" | "simple_expansion":
                return Word(None)
            case "expansion":
                _demand(PLAIN_EXPANSION.fullmatch(_text(node).strip()) is not None)
                return Word(None)
            case "command_substitution":
                self._statement(node, depth + 1)
                return Word(None)
            case "process_substitution":
                self._statement(node, depth + 1)
                return Word("/dev/fd/63")
            case "string" | "concatenation":
                return self._joined(node, depth)
            case kind:
                _demand(kind == "brace_expression" and not _raw(node).startswith(b"-"))
                return Word(None)

    def _joined(self, node: Node, depth: int) -> Word:
        """A string or several pieces in a row: known when each piece is."""
        quoted = node.type == "string"
        known_text: str | None = ""
        for child in node.children:
            piece: str | None
            if child.type == "string_content":
                piece = re.sub(r'\\([$`"\\])', r"\1", _text(child))
            elif child.is_named:
                piece = self._word(child, depth + 1).text
            else:
                piece = "" if child.type == '"' else None
            known_text = None if piece is None or known_text is None else known_text + piece
        if not quoted and GLOB.match(known_text or ""):
            known_text = None
        return Word(known_text, quoted=quoted)


def _literal(text: str) -> Word:
    """An unquoted word. One that a glob begins may become anything, an option too."""
    if GLOB.match(text) or (text.startswith("-") and GLOB.search(text)):
        return Word(None)
    return Word(re.sub(r"\\(.)", r"\1", text))


def _only_reads(name: str, words: Sequence[Word]) -> bool:
    literal = [word.text for word in words if word.text is not None]
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


def _fits(reader: known.Reader, words: Sequence[Word]) -> bool:
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


def _operands(reader: known.Reader, words: Sequence[Word]) -> list[str] | None:
    """What is no option; None when an option, or a word that may become one, is not welcome."""
    operands: list[str] = []
    waiting = iter(words)
    for word in waiting:
        if word.text is None:
            if not reader.loose:
                return None
        elif word.text in reader.takes:
            next(waiting, None)
        elif word.text.startswith("-") and len(word.text) > 1:
            if word.text not in reader.fine and _is_one_of(word.text, reader.never):
                return None
        else:
            operands.append(word.text)
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
        return rest[0] in subcommand.needs if rest else subcommand.bare
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
    return bool(rest) and known.READERS.get(rest[0], known.Reader(never=("-",))).loose

"""The parts of a shell command as values: simple commands, compounds, redirections and words.

`tree.py` makes them from the parser's tree. Everything that is said about a command (its effect,
its verdict, the text that runs) is computed from these values alone.
"""

from collections.abc import Iterator
from typing import TypeVar

from msgspec import Struct

Kind = TypeVar("Kind")


class Syntax(Struct, frozen=True, kw_only=True):
    """A part of a command, with the parts that stand in it, in their order."""

    parts: "tuple[Syntax, ...]" = ()

    def all_of(self, kind: type[Kind]) -> list[Kind]:
        return [part for part in self.parts if isinstance(part, kind)]


class Token(Syntax, frozen=True, kw_only=True):
    """A keyword, an operator or a bracket, as it is written."""

    sign: str


class Unsupported(Syntax, frozen=True, kw_only=True):
    """A part that has no value here; `why` is a reason for a person."""

    why: str


class Comment(Syntax, frozen=True, kw_only=True):
    plain: bool  # it has no backslash, so that every shell ends it with its line


class BareText(Syntax, frozen=True, kw_only=True):
    """A word without quotes: wildcards, a tilde, braces and backslashes may mean something."""

    text: str
    pattern: bool = False  # what a test compares with


class QuotedText(Syntax, frozen=True, kw_only=True):
    """A word, or a piece of one, that stands for itself."""

    text: str


class AnsiText(Syntax, frozen=True, kw_only=True):
    text: str  # `$'…'`


class Variable(Syntax, frozen=True, kw_only=True):
    text: str  # `$x` or `${x…}`


class Arithmetic(Syntax, frozen=True, kw_only=True):
    text: str  # `$((…))` of numbers and operators


class BraceRange(Syntax, frozen=True, kw_only=True):
    text: str  # `{1..3}`; the parser may count a dash before it to it


class BraceList(Syntax, frozen=True, kw_only=True):
    """`src/{a,b}` or `{1..3}`: a word as it is written, and the words that a shell makes of it."""

    words: tuple[str, ...]


class JoinedText(Syntax, frozen=True, kw_only=True):
    """A string in double quotes, or pieces of one word that touch."""

    quoted: bool


class Substitution(Syntax, frozen=True, kw_only=True):
    """`$(…)` or a pair of backquotes; as a process `<(…)`. Its brackets are among its parts."""

    process: bool


class CommandName(Syntax, frozen=True, kw_only=True):
    text: str
    plain: bool  # a name without a path, quotes, variables and escapes


class VariableAssignment(Syntax, frozen=True, kw_only=True):
    """`x=1`, as it is written; the parts are its values."""

    text: str


class Redirection(Syntax, frozen=True, kw_only=True):
    """`2> file`. The part is its target; the parser may count a word behind it as a second one."""

    operator: str  # empty when there is not exactly one
    descriptor: str


class Heredoc(Syntax, frozen=True, kw_only=True):
    """`<<END` and its text; the parts are what else stands in the line where it begins."""

    text: str
    expands: bool  # its end is not in quotes, so that a shell expands the text
    tabs: bool  # `<<-`, which removes tabs at the beginning of lines


class SimpleCommand(Syntax, frozen=True, kw_only=True):
    """One program: its name, words, assignments and redirections."""


class BracketTest(Syntax, frozen=True, kw_only=True):
    """`[ … ]` or `[[ … ]]`, as one row of tokens and words."""

    bracket: str


class ForLoop(Syntax, frozen=True, kw_only=True):
    """The parts are its tokens, its items and, last, its body."""

    variable: str


class Compound(Syntax, frozen=True, kw_only=True):
    """Commands and the tokens that hold them together: a list, a pipeline, `if`, `( … )`, a command
    with redirections, and all that has no class of its own. `kind` is the parser's word for it."""

    kind: str


class WhileLoop(Compound, frozen=True, kw_only=True):
    reads: bool  # its condition begins with `read`, so that it ends with its input


def everything_in(program: Syntax) -> Iterator[Syntax]:
    """The program and all that stands in it."""
    waiting = [program]
    while waiting:
        part = waiting.pop()
        yield part
        waiting += part.parts

"""Words of a command as a shell would make them: what is known now, and what only then."""

import re

from msgspec import Struct
from tree_sitter import Node

from hermes.tools.shell_syntax import text_of
from hermes.views.expressions import Expression

HOLE = "\x00"  # stands for what is only known when it runs; no command contains one
GLOB = Expression(r"[*?\[\]]")
BRACES = Expression(r"[{}]")
ESCAPED = Expression(r"\\(.)", re.DOTALL)
IN_STRING = Expression(r'\\([$`"\\])')
PLAIN_EXPANSION = Expression(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?", re.ASCII)
SPECIAL_EXPANSION = Expression(r"\$(?:[?#$!0-9@*-]|\{[?#0-9]\})")
SPLITS = Expression(r"[\s*?\[\]\\]")
HIDDEN_TILDE = Expression(r"[=:]~")


class Word(Struct, frozen=True, kw_only=True):
    """`shape` is the word with a HOLE for each unknown piece."""

    shape: str
    glob: bool = False  # some of its signs are wildcards
    variable: str = ""  # it is the value of this variable and nothing else
    quoted: bool = False  # one word, whatever is in it

    @property
    def text(self) -> str | None:
        """None while nobody can know it, or it may become several."""
        return None if HOLE in self.shape or self.glob else self.shape

    @property
    def may_be_option(self) -> bool:
        return self.shape.startswith(("-", HOLE)) or (self.glob and bool(GLOB.match(self.shape)))


class Call(Struct, frozen=True, kw_only=True):
    """A program and its words. No name: it is only known when it runs, or is no plain word."""

    name: str
    words: tuple[Word, ...]
    spelled: str = ""  # what stands in the place of the name

    @property
    def literal(self) -> list[str] | None:
        """All its words, when each is known."""
        texts = [word.text for word in self.words if word.text is not None]
        return texts if len(texts) == len(self.words) else None


class Values(Struct, frozen=True, kw_only=True):
    """Variables whose values are known. Nothing that may run here can set them."""

    home: str
    cwd: str  # empty when it is not known

    def get(self, name: str) -> str | None:
        value = {"HOME": self.home, "PWD": self.cwd}.get(name)
        return value or None


def literal(text: str, values: Values, *, first: bool) -> Word:
    """An unquoted piece. `first`: the word begins with it, so a tilde means a home."""
    if first and text.startswith("~"):
        user, slash, rest = text.partition("/")
        if user != "~" or SPLITS.search(values.home):
            return Word(shape=HOLE + slash + rest)
        text = values.home + slash + rest
    bare = ESCAPED.sub("", text) if "\\" in text else text
    if (BRACES.search(bare) and text != "{}") or HIDDEN_TILDE.search(bare):
        return Word(shape=HOLE)
    plain = ESCAPED.sub(r"\1", text) if "\\" in text else text
    return Word(shape=plain, glob=GLOB.search(bare) is not None)


def expansion(node: Node, values: Values, *, quoted: bool) -> Word | None:
    """A variable; None when it is more than the value of one."""
    text = text_of(node).strip()
    plain = PLAIN_EXPANSION.fullmatch(text)
    if plain is None or text.count("{") != text.count("}"):
        return Word(shape=HOLE) if SPECIAL_EXPANSION.fullmatch(text) else None
    value = values.get(plain[1])
    if value is not None and (quoted or not SPLITS.search(value)):
        return Word(shape=value, quoted=quoted)
    return Word(shape=HOLE, variable=plain[1], quoted=quoted)


def unescaped(text: str) -> str:
    """The inside of double quotes."""
    return IN_STRING.sub(r"\1", text) if "\\" in text else text

"""Expanded words: what is known of them before the command runs, and what is not."""

import re

from msgspec import Struct

from hermes.lazy import LazyPattern

HOLE = "\x00"  # stands for what is only known when it runs; no command contains one
PLAIN_NAME = LazyPattern(r"[A-Za-z0-9_.+:-]+", re.ASCII)  # of a program
GLOB = LazyPattern(r"[*?\[\]]")
BRACES = LazyPattern(r"[{}]")
ESCAPED = LazyPattern(r"\\(.)", re.DOTALL)
IN_STRING = LazyPattern(r'\\(?:([$`"\\])|\n)')
PLAIN_EXPANSION = LazyPattern(r"\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?", re.ASCII)
SPECIAL_EXPANSION = LazyPattern(r"\$(?:[?#$!0-9@*-]|\{[?#0-9]\})")
SPLITS = LazyPattern(r"[\s*?\[\]\\]")
# A word with one list or range in braces, and one whose braces mean nothing to a shell.
_BARE = r"[A-Za-z0-9_./:@%+=-]"
BRACED = LazyPattern(
    rf"({_BARE}*)\{{((?:{_BARE}*,)+{_BARE}*|-?\d+\.\.-?\d+)\}}({_BARE}*)", re.ASCII
)
RANGE = LazyPattern(r"(-?\d{1,9})\.\.(-?\d{1,9})", re.ASCII)
AT_BRACES = LazyPattern(
    r"[A-Za-z0-9_./:~^-]*@?\^?\{[A-Za-z0-9_/+-]*\}[A-Za-z0-9_./:~^-]*", re.ASCII
)
WORDS_MAX = 100  # that one word may become
HIDDEN_TILDE = LazyPattern(r"[=:]~")


class Word(Struct, frozen=True, kw_only=True):
    """`shape` is the word with a HOLE for each unknown piece."""

    shape: str
    glob: bool = False  # some of its signs are wildcards
    variable: str = ""  # it is the value of this variable and nothing else
    quoted: bool = False  # one word, whatever is in it
    found: bool = False  # it is the names of files that were found in reach

    @property
    def text(self) -> str | None:
        """None while nobody can know it, or it may become several."""
        return None if HOLE in self.shape or self.glob else self.shape

    @property
    def may_be_option(self) -> bool:
        return self.shape.startswith(("-", HOLE)) or (self.glob and bool(GLOB.match(self.shape)))


class Invocation(Struct, frozen=True, kw_only=True):
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


def brace_words(text: str) -> tuple[str, ...]:
    """The words that braces make of a bare one: `src/{a,b}`, `{1..3}`; `HEAD@{1}` stays itself.
    Empty where there is more than one list or range in it."""
    found = BRACED.fullmatch(text)
    if found is None:
        return (text,) if text != "{}" and AT_BRACES.fullmatch(text) else ()
    before, inner, behind = found.groups()
    listed = inner.split(",") if "," in inner else _counted(inner)
    return tuple(f"{before}{each}{behind}" for each in listed)


def _counted(inner: str) -> list[str]:
    found = RANGE.fullmatch(inner)
    if found is None:
        return []
    first, last = int(found[1]), int(found[2])
    step = 1 if first <= last else -1
    many = range(first, last + step, step)
    padded = any(len(end.lstrip("-")) > 1 and end.lstrip("-")[0] == "0" for end in found.groups())
    return [str(each) for each in many] if len(many) <= WORDS_MAX and not padded else []


def literal(text: str, values: Values, *, first: bool) -> Word:
    """An unquoted piece. `first`: the word begins with it, so a tilde means a home."""
    if first and text.startswith("~"):
        user, slash, rest = text.partition("/")
        if user != "~" or SPLITS.search(values.home):
            return Word(shape=HOLE + slash + rest)
        text = values.home + slash + rest
    bare = ESCAPED.sub("", text) if "\\" in text else text
    fixed = text == "{}" or AT_BRACES.fullmatch(text)
    if (BRACES.search(bare) and not fixed) or HIDDEN_TILDE.search(bare):
        return Word(shape=HOLE)
    plain = ESCAPED.sub(r"\1", text) if "\\" in text else text
    return Word(shape=plain, glob=GLOB.search(bare) is not None)


def expansion(text: str, values: Values, *, quoted: bool) -> Word | None:
    """A variable; None when it is more than the value of one."""
    plain = PLAIN_EXPANSION.fullmatch(text)
    if plain is None or text.count("{") != text.count("}"):
        return Word(shape=HOLE) if SPECIAL_EXPANSION.fullmatch(text) else None
    value = values.get(plain[1])
    if value is not None and (quoted or not SPLITS.search(value)):
        return Word(shape=value, quoted=quoted)
    return Word(shape=HOLE, variable=plain[1], quoted=quoted)


def unescaped(text: str) -> str:
    """The inside of double quotes."""
    return IN_STRING.sub(lambda found: found[1] or "", text) if "\\" in text else text

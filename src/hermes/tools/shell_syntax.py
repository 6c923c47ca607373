"""A shell command as a syntax tree, or the reason why nobody should trust one of it.

The one parser for everything that is said about a command. What costs too much to parse, and what
parsers are known to read differently, is turned away before it.
"""

import functools
import re
from collections.abc import Iterator
from itertools import pairwise

from tree_sitter import Language, Node, Parser

from hermes.views.honest import is_deceptive

COMMAND_BYTES_MAX = 10_000
PIECES_MAX = 120  # words and signs; a bound for the time that parsing and walking take
SPACES_MAX = 4 * PIECES_MAX  # outside of quotes
HEREDOC_PIECES = 20  # what one costs the parser, in words
WORD_CHARS_MAX = 4_096  # no path is longer
NODES_MAX = 600
DEPTH_MAX = 40

CONTINUED_WORD = re.compile(r"\S\\\n")
GAP = re.compile(r"(?:[ \t\n]|\\\n)*")
SIGNS = frozenset("|&;()<>{}$`\"'\\\n")
ON_ONE_LINE = frozenset({"command", "redirected_statement", "file_redirect", "declaration_command"})
# Quotes with nothing in them that could be anything but text, where nothing else confuses quotes.
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
QUOTE = re.compile("[\"']")
CONFUSES_QUOTES = ("\\'", '\\"', "#", "$(", "`", "$'", "<<", "${")


class Unclear(Exception):
    """It cannot be judged by its syntax tree."""


def tree_of(command: str) -> Node:
    """Raises Unclear, which says why."""
    raw = command.encode("utf-8", "surrogatepass")
    if len(raw) > COMMAND_BYTES_MAX:
        raise Unclear(f"it is longer than {COMMAND_BYTES_MAX:,} bytes")
    if is_deceptive(command):
        raise Unclear("it has characters that do not show, or show as something else")
    if "\\\n" in command and CONTINUED_WORD.search(command):
        raise Unclear("a word goes on in the next line")
    if command.count(" ") > SPACES_MAX and not QUOTE.search(command):
        raise Unclear("it has too many parts to be judged")
    if max(map(len, command.split()), default=0) > WORD_CHARS_MAX:
        raise Unclear("a word of it is too long")
    if _pieces(command) > PIECES_MAX:
        raise Unclear("it has too many parts to be judged")
    root = _parser().parse(raw).root_node
    if root.has_error:
        raise Unclear("it is not shell that can be understood")
    if not 1 < root.descendant_count <= NODES_MAX:
        raise Unclear("it is empty" if root.descendant_count <= 1 else "it has too many parts")
    if not _has_no_gaps(root, raw):
        raise Unclear("a part of it was not understood")
    if b"\n" in raw and not _keeps_to_its_line(root, raw):
        raise Unclear("the end of a line was not understood")
    return root


def raw_of(node: Node) -> bytes:
    return node.text or b""


def text_of(node: Node) -> str:
    return raw_of(node).decode("utf-8", "replace")


@functools.cache
def _parser() -> Parser:
    import tree_sitter_bash  # a megabyte that a gateway without commands does not need

    return Parser(Language(tree_sitter_bash.language()))


def _pieces(command: str) -> int:
    """How many words and signs it has at most; what stands in plain quotes is one word."""
    text, quotes = command, 0
    if (many := text.count("'") + text.count('"')) > 2 * PIECES_MAX:
        return many
    if not any(sign in text for sign in CONFUSES_QUOTES):
        text, quotes = QUOTED.subn("_", text)
    return (
        len(text.split()) + quotes + sum(map(text.count, SIGNS)) + HEREDOC_PIECES * text.count("<<")
    )


def _has_no_gaps(root: Node, raw: bytes) -> bool:
    """Between the leaves there is only white space: the parser has skipped nothing of it."""
    end = 0
    for leaf in _leaves(root):
        if leaf.start_byte > end and not _is_gap(raw[end : leaf.start_byte]):
            return False
        end = leaf.end_byte
    return end >= len(raw) or _is_gap(raw[end:])


def _keeps_to_its_line(root: Node, raw: bytes) -> bool:
    """The parser sometimes reads the program of the next line as words of the one before."""
    waiting = [root]
    while waiting:
        node = waiting.pop()
        waiting += node.children
        if node.type in ON_ONE_LINE:
            for one, other in pairwise(node.children):
                gap = raw[one.end_byte : other.start_byte]
                if b"\n" in gap.replace(b"\\\n", b""):
                    return False
    return True


def _is_gap(raw: bytes) -> bool:
    return raw.isspace() or GAP.fullmatch(raw.decode("utf-8", "replace")) is not None


def _leaves(root: Node) -> Iterator[Node]:
    waiting = [root]
    while waiting:
        node = waiting.pop()
        if node.child_count:
            waiting += reversed(node.children)
        else:
            yield node

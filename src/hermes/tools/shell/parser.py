"""Parse a shell command into a syntax tree, or raise the reason why its tree cannot be trusted.

What costs too much to parse, crashes the parser, or is read differently by shells is Unclear.
"""

import functools
import re
from collections.abc import Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

from tree_sitter import Language, Node, Parser

from hermes.lazy import LazyModule
from hermes.text.visible_text import is_deceptive

if TYPE_CHECKING:
    import tree_sitter_bash
else:  # a megabyte that a gateway without commands does not need
    tree_sitter_bash = LazyModule("tree_sitter_bash")

COMMAND_BYTES_MAX = 10_000
PIECES_MAX = 120  # words and signs; a bound for the time that parsing and walking take
SPACES_MAX = 4 * PIECES_MAX  # outside of quotes
HEREDOC_PIECES = 20  # what one costs the parser, in words
WORD_CHARS_MAX = 4_096  # no path is longer
NODES_MAX = 600

CONTINUED_WORD = re.compile(r"\S\\\n")
GAP = re.compile(r"(?:[ \t\n]|\\\n)*")
SIGNS = frozenset("|&;()<>{}$`\"'\\\n")
ON_ONE_LINE = frozenset(
    {"command", "redirected_statement", "file_redirect", "declaration_command", "test_command"}
    | {"unary_expression", "binary_expression", "parenthesized_expression", "herestring_redirect"}
)
REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
BRACKETS = frozenset({"[", "]", "[[", "]]"})
BESIDE_KEYWORDS = frozenset({b"", b" ", b"\t", b"\n", b";", b"(", b")", b"|", b"&"})
TILDE_ALONE = re.compile(rb"~[^/]*\Z")
# Leaves in which a line break and a backquote are text, or are judged by who reads them.
QUOTED_TEXT = frozenset(
    {"raw_string", "string_content", "ansi_c_string", "heredoc_body", "heredoc_content", "comment"}
)
# Quotes with nothing in them that could be anything but text, where nothing else confuses quotes.
QUOTED = re.compile(r"'[^']*'|\"[^\"]*\"")
QUOTE = re.compile("[\"']")
# The parser's scanner looks such a character up in a table of 256 behind a brace: it may crash.
CRASHES_SCANNER = re.compile(r"\{[0-9]*(?:\.\.[0-9]*)?[^\x00-\xff]")
CONFUSES_QUOTES = ("\\'", '\\"', "#", "$(", "`", "$'", "<<", "${")


class Unclear(Exception):
    """The command cannot be judged by its syntax tree; the message says why."""


def tree_of(command: str) -> Node:
    """Raise Unclear, which says why, where the tree could be wrong."""
    raw = command.encode("utf-8", "surrogatepass")
    if len(raw) > COMMAND_BYTES_MAX:
        raise Unclear(f"it is longer than {COMMAND_BYTES_MAX:,} bytes")
    if is_deceptive(command):
        raise Unclear("it has invisible or misleading characters")
    if CRASHES_SCANNER.search(command):
        raise Unclear("it has a brace with a character behind it that I cannot read")
    if "\\\n" in command and CONTINUED_WORD.search(command):
        raise Unclear("a word continues on the next line")
    if command.count(" ") > SPACES_MAX and not QUOTE.search(command):
        raise Unclear("it has too many parts to be checked")
    if max(map(len, command.split()), default=0) > WORD_CHARS_MAX:
        raise Unclear("a word of it is too long")
    if _pieces(command) > PIECES_MAX:
        raise Unclear("it has too many parts to be checked")
    root = _parser().parse(raw).root_node
    if root.has_error:
        raise Unclear("it is not valid shell")
    if not 1 < root.descendant_count <= NODES_MAX:
        raise Unclear("it is empty" if root.descendant_count <= 1 else "it has too many parts")
    _demand_agreement(root, raw)
    return root


def _demand_agreement(root: Node, raw: bytes) -> None:
    """Raise Unclear where a shell is known to read a text differently than our parser."""
    nodes, leaves = _nodes_of(root)
    if not _has_no_gaps(leaves, raw):
        raise Unclear("a part of it was not understood")
    if b"\n" in raw and not all(_keeps_to_its_line(node, raw) for node in nodes):
        raise Unclear("the end of a line was not understood")
    if not all(map(_keeps_words_apart, nodes)) or not _ends_heredocs(leaves, raw):
        raise Unclear("where one of its words ends was not understood")
    if not _has_plain_words(leaves, raw):
        raise Unclear("a word of it has a line break or a backquote in it")
    if not all(_stands_alone(leaf, raw) for leaf in leaves if not leaf.is_named):
        raise Unclear("where one of its words ends was not understood")


def raw_of(node: Node) -> bytes:
    return node.text or b""


def text_of(node: Node) -> str:
    return raw_of(node).decode("utf-8", "replace")


@functools.cache
def _parser() -> Parser:
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


def _has_no_gaps(leaves: Sequence[Node], raw: bytes) -> bool:
    """Between the leaves there is only white space: the parser has skipped nothing of it."""
    end = 0
    for leaf in leaves:
        if leaf.start_byte > end and not _is_gap(raw[end : leaf.start_byte]):
            return False
        end = leaf.end_byte
    return end >= len(raw) or _is_gap(raw[end:])


def _keeps_to_its_line(node: Node, raw: bytes) -> bool:
    """The parser sometimes reads the program of the next line as words of the one before."""
    if node.type not in ON_ONE_LINE and node.type not in ("for_statement", "heredoc_redirect"):
        return True
    return not any(
        b"\n" in raw[one.end_byte : other.start_byte].replace(b"\\\n", b"")
        for one, other in pairwise(node.children)
        if other.type not in ("do_group", "heredoc_body", "heredoc_end")
    )


def _keeps_words_apart(node: Node) -> bool:
    """The parser sometimes makes two words of pieces that touch, which are one to a shell, or takes
    `[x]` for a test; and a tilde in front of quotes is no home."""
    kind = node.type
    if kind == "concatenation":
        return TILDE_ALONE.match(raw_of(node.children[0])) is None
    return kind not in ON_ONE_LINE or not any(
        one.end_byte == other.start_byte and _are_one(one, other)
        for one, other in pairwise(node.children)
    )


def _ends_heredocs(leaves: Sequence[Node], raw: bytes) -> bool:
    """The parser sometimes ends the text of one within a line."""
    ends = [leaf.end_byte for leaf in leaves if leaf.type == "heredoc_end"]
    return all(raw[end : end + 1] in (b"", b"\n") for end in ends)


def _stands_alone(token: Node, raw: bytes) -> bool:
    """`in` and `then` are only that where no other letters touch them."""
    if not token.type.isalpha() and token.type != "!":
        return True
    around = raw[max(0, token.start_byte - 1) : token.start_byte], raw[token.end_byte :][:1]
    return all(each in BESIDE_KEYWORDS for each in around)


def _are_one(one: Node, other: Node) -> bool:
    """Do these two, which touch, belong together for a shell?"""
    if other.type in REDIRECTS:
        return raw_of(one)[-1:].isdigit()
    if one.type in BRACKETS or other.type in BRACKETS:
        return True
    return one.is_named and other.is_named and one.type not in (*REDIRECTS, "file_descriptor")


def _has_plain_words(leaves: Sequence[Node], raw: bytes) -> bool:
    """A shell ends a bare word at a line break and at a backquote, where our parser may go on.
    One pair of backquotes without escapes is read in one way only."""
    bare = [raw_of(leaf) for leaf in leaves if leaf.type not in QUOTED_TEXT]
    if raw.count(b"`") not in (0, 2) and any(b"`" in text for text in bare):
        return False
    if any(text not in (b"`", b"\n") and (b"\n" in text or b"`" in text) for text in bare):
        return False
    first, last = raw.find(b"`"), raw.rfind(b"`")
    return first == last or b"\\" not in raw[first:last]


def _is_gap(raw: bytes) -> bool:
    return raw.isspace() or GAP.fullmatch(raw.decode("utf-8", "replace")) is not None


def _nodes_of(root: Node) -> tuple[list[Node], list[Node]]:
    """Those with children, and the leaves, in the order of the text."""
    waiting, nodes, leaves = [root], list[Node](), list[Node]()
    while waiting:
        node = waiting.pop()
        if node.child_count:
            nodes.append(node)
            waiting += reversed(node.children)
        else:
            leaves.append(node)
    return nodes, leaves

"""The one walk over a parser's tree: it makes the values of `syntax.py` of a command."""

import re
from collections.abc import Callable, Iterator, Mapping

from tree_sitter import Node

from hermes.tools.shell import syntax
from hermes.tools.shell.parser import REDIRECTS, raw_of, text_of, tree_of
from hermes.tools.shell.words import PLAIN_NAME, brace_words, unescaped

DEPTH_MAX = 40
ARITHMETIC = re.compile(r"\$\(\([0-9 +*/%()-]+\)\)")
EXPRESSIONS = frozenset({"unary_expression", "binary_expression", "parenthesized_expression"})
BARE = frozenset({"word", "number", "brace_expression"})
# What stands in the line of a heredoc and is not one of its own signs.
BESIDE_HEREDOC = frozenset({*REDIRECTS, "pipeline", "command", "list"})
TOO_DEEP = syntax.Unsupported(why="it is nested too deeply for me to check")
NO_HEREDOC = syntax.Unsupported(why="I cannot check the text in it")


def program_of(command: str) -> syntax.Compound:
    """Parse a command. Raise Unclear, which says why, where that cannot be done with certainty."""
    root = tree_of(command)
    return syntax.Compound(kind=root.type, parts=_statements(root, 0))


def _statements(node: Node, depth: int) -> tuple[syntax.Syntax, ...]:
    return tuple([_statement(child, depth + 1) for child in node.children])


def _statement(node: Node, depth: int) -> syntax.Syntax:
    if depth >= DEPTH_MAX:
        return TOO_DEEP
    kind = node.type
    if not node.is_named:
        return syntax.Token(sign=kind)
    if kind in STATEMENTS:
        return STATEMENTS[kind](node, depth)
    return syntax.Compound(kind=kind, parts=_statements(node, depth))


def _command(node: Node, depth: int) -> syntax.SimpleCommand:
    parts: list[syntax.Syntax] = []
    for child in node.children:
        kind = child.type
        if kind == "command_name":
            name = text_of(child)
            plain = [part.type for part in child.named_children] == ["word"]
            plain = plain and PLAIN_NAME.fullmatch(name) is not None
            parts.append(syntax.CommandName(text=name, plain=plain))
        elif kind in REDIRECTS or kind == "variable_assignment":
            parts.append(_statement(child, depth + 1))
        else:
            parts.append(_argument(child, depth + 1) if child.is_named else syntax.Token(sign=kind))
    return syntax.SimpleCommand(parts=tuple(parts))


def _comment(node: Node, _depth: int) -> syntax.Comment:
    return syntax.Comment(plain=b"\\" not in raw_of(node))


def _assignment(node: Node, depth: int) -> syntax.VariableAssignment:
    values = tuple(_word(child, depth + 1) for child in node.named_children[1:])
    return syntax.VariableAssignment(text=text_of(node), parts=values)


def _for(node: Node, depth: int) -> syntax.ForLoop:
    variable, parts = "", list[syntax.Syntax]()
    for child in node.children:
        kind = child.type
        if kind == "variable_name":
            variable = text_of(child)
        elif kind in ("do_group", "compound_statement") or not child.is_named:
            parts.append(_statement(child, depth + 1))
        else:
            parts.append(_argument(child, depth + 1))
    return syntax.ForLoop(variable=variable, parts=tuple(parts))


def _while(node: Node, depth: int) -> syntax.WhileLoop:
    condition = next((text_of(child) for child in node.named_children), "")
    reads = condition.removeprefix("IFS= ").split()[:1] == ["read"]
    return syntax.WhileLoop(kind=node.type, parts=_statements(node, depth), reads=reads)


def _test(node: Node, depth: int) -> syntax.BracketTest:
    return syntax.BracketTest(bracket=node.children[0].type, parts=tuple(_test_parts(node, depth)))


def _test_parts(node: Node, depth: int) -> Iterator[syntax.Syntax]:
    for part in node.children:
        if part.type in EXPRESSIONS and depth < DEPTH_MAX:
            yield from _test_parts(part, depth + 1)
        elif part.type == "test_operator" or not part.is_named:
            yield syntax.Token(sign=text_of(part))
        else:
            yield _word(part, depth + 1)


def _redirection(node: Node, depth: int) -> syntax.Redirection:
    operators, descriptor, targets = list[str](), "", list[syntax.Syntax]()
    for child in node.children:
        if not child.is_named:
            operators.append(child.type)
        elif child.type == "file_descriptor":
            descriptor = text_of(child)
        else:
            targets.append(_word(child, depth + 1))
    operator = operators[0] if len(operators) == 1 else ""
    return syntax.Redirection(operator=operator, descriptor=descriptor, parts=tuple(targets))


def _heredoc(node: Node, depth: int) -> syntax.Heredoc:
    text, expands, tabs, parts = "", True, False, list[syntax.Syntax]()
    for child in node.children:
        match child.type:
            case "heredoc_start":
                expands = not any(quote in raw_of(child) for quote in (b"'", b'"', b"\\"))
            case "heredoc_body":
                text = text_of(child)
            case "<<-":
                tabs = True
            case "<<" | "heredoc_end" | "heredoc_content":
                pass
            case kind if kind in BESIDE_HEREDOC or not child.is_named:
                parts.append(_statement(child, depth + 1))
            case _:
                parts.append(NO_HEREDOC)
    return syntax.Heredoc(text=text, expands=expands, tabs=tabs, parts=tuple(parts))


STATEMENTS: Mapping[str, Callable[[Node, int], syntax.Syntax]] = {
    "command": _command,
    "comment": _comment,
    "file_redirect": _redirection,
    "for_statement": _for,
    "heredoc_redirect": _heredoc,
    "herestring_redirect": _redirection,
    "test_command": _test,
    "variable_assignment": _assignment,
    "while_statement": _while,
}


def _argument(node: Node, depth: int) -> syntax.Syntax:
    """A word where braces may make several words of it."""
    written = _word(node, depth)
    if b"{" not in raw_of(node):
        return written
    pieces = node.children if node.type == "concatenation" else [node]
    words = brace_words(text_of(node)) if all(each.type in BARE for each in pieces) else ()
    return syntax.BraceList(words=words, parts=(written,)) if words else written


def _word(node: Node, depth: int) -> syntax.Syntax:
    if depth >= DEPTH_MAX:
        return TOO_DEEP
    text = text_of(node)
    match node.type:
        case "word" | "number":
            return syntax.BareText(text=text)
        case "extglob_pattern":
            return syntax.BareText(text=text, pattern=True)
        case "raw_string":
            return syntax.QuotedText(text=text[1:-1])
        case "concatenation" if text == "{}":
            return syntax.BareText(text=text)
        case "string" | "concatenation" as kind:
            return syntax.JoinedText(parts=tuple(_pieces(node, depth)), quoted=kind == "string")
        case "simple_expansion" | "expansion":
            return syntax.Variable(text=text.strip())
        case "command_substitution" | "process_substitution" as kind:
            process = kind == "process_substitution"
            return syntax.Substitution(parts=_statements(node, depth), process=process)
        case "ansi_c_string":
            return syntax.AnsiText(text=text)
        case "brace_expression":
            return syntax.BraceRange(text=text)
        case "arithmetic_expansion" if ARITHMETIC.fullmatch(text):
            return syntax.Arithmetic(text=text)
        case kind:
            return syntax.Unsupported(why=f"I cannot check its {kind.replace('_', ' ')}")


def _pieces(node: Node, depth: int) -> Iterator[syntax.Syntax]:
    """White space that the parser leaves out of a string, or counts to what stands behind it,
    belongs to the string all the same."""
    quoted = node.type == "string"
    raw, end = raw_of(node), node.start_byte
    for child in node.children:
        if child.start_byte > end:
            gap = raw[end - node.start_byte : child.start_byte - node.start_byte]
            yield syntax.QuotedText(text=gap.decode("utf-8", "replace"))
        end, text = child.end_byte, text_of(child)
        if child.type == "string_content":
            yield syntax.QuotedText(text=unescaped(text))
            continue
        bare = text.lstrip() if quoted else text
        if len(bare) < len(text):
            yield syntax.QuotedText(text=text[: len(text) - len(bare)])
        if child.is_named:
            yield _word(child, depth + 1)
        elif child.type != '"':
            yield syntax.Token(sign=bare)

"""Write a judged command down again, with every word in quotes.

A shell may read a text differently than our parser does. What runs without a question is therefore
never the text that was given but this one, in which nothing is left to be read differently: each
literal word is quoted, a line ends where the parser says so, and what has no plain form is Unclear.
"""

import re
from collections.abc import Iterator, Mapping

from hermes.lazy import LazyPattern
from hermes.tools.shell import readers as known
from hermes.tools.shell import syntax
from hermes.tools.shell.git import commit_only
from hermes.tools.shell.parser import Unclear
from hermes.tools.shell.words import (
    AT_BRACES,
    HIDDEN_TILDE,
    PLAIN_EXPANSION,
    SPECIAL_EXPANSION,
    Values,
    expansion,
)

NO_FIELDS = "IFS="  # what `read` splits lines at; empty, it keeps them whole
ANSI_C = LazyPattern(r"\$'(?:[^'\\]|\\[abefnrtv\\'\"?]|\\x[0-9A-Fa-f]{1,2}|\\[0-7]{1,3})*'")
# A wildcard, or a set of signs that means the same whatever stands around it.
WILDCARD = LazyPattern(r"[*?]|\[[!^]?(?:[A-Za-z0-9_.](?:-[A-Za-z0-9])?)+\]", re.ASCII)
OPERATORS = frozenset({">", ">>", "&>", "&>>", "<", ">&", "<<<"})
BLOCKS = frozenset({"if_statement", "elif_clause", "else_clause", "while_statement", "do_group"})
# Tokens between statements, and how they are written; each statement has lines of its own.
ENDS = {";": "", "\n": ""}
KEYWORDS = ENDS | {
    key: key
    for key in (*("if", "then", "elif", "else", "fi"), *("while", "until", "do", "done", "{", "}"))
}
JOINTS = {"|": "|", "&&": "&&", "||": "||", "|&": "2>&1 |", "\n": ""}
GIT = "'git'"
NOT_HERE = "I cannot write it down again exactly as I read it"


def render(program: syntax.Compound, values: Values) -> str:
    """The same command for a shell. Raise Unclear where it has no plain form."""
    return _Rendering(values).block(program)


def quoted(text: str) -> str:
    """One word, whatever is in it; in quotes even where it needs none."""
    return "'" + text.replace("'", "'\"'\"'") + "'"


class _Rendering:
    def __init__(self, values: Values) -> None:
        self._values = values

    def block(self, compound: syntax.Compound) -> str:
        """Statements, each on lines of its own, between the keywords that hold them."""
        return "\n".join(self._row(compound, KEYWORDS))

    def _row(self, part: syntax.Syntax, tokens: Mapping[str, str]) -> Iterator[str]:
        """The parts of it, with these tokens and no others."""
        for each in part.parts:
            if isinstance(each, syntax.Token):
                if each.sign not in tokens:
                    raise Unclear(NOT_HERE)
                if tokens[each.sign]:
                    yield tokens[each.sign]
            elif not isinstance(each, syntax.Comment):
                yield self._statement(each)

    def _statement(self, part: syntax.Syntax) -> str:
        match part:
            case syntax.SimpleCommand():
                return self._command(part)
            case syntax.Compound():
                return self._compound(part)
            case syntax.ForLoop():
                return self._for(part)
            case syntax.BracketTest():
                return " ".join(self._test(part))
            case syntax.Redirection() if part.operator != "<<<":  # $(<file)
                return self._redirection(part)
            case _:
                raise Unclear(NOT_HERE)

    def _compound(self, part: syntax.Compound) -> str:
        match part.kind:
            case "pipeline" | "list":
                return self._joined(part)
            case "redirected_statement":
                return self._redirected(part)
            case "compound_statement" if part.parts[0] == syntax.Token(sign="{"):
                return self.block(part)
            case "subshell":
                return f"(\n{self._within(part, '(', ')')}\n)"
            case "negated_command":
                return f"! {self._within(part, '!')}"
            case kind if kind in BLOCKS:
                return self.block(part)
            case _:
                raise Unclear(NOT_HERE)

    def _within(self, part: syntax.Syntax, *brackets: str) -> str:
        return "\n".join(self._row(part, ENDS | dict.fromkeys(brackets, "")))

    def _joined(self, part: syntax.Compound) -> str:
        if part.all_of(syntax.Comment):
            raise Unclear(NOT_HERE)
        return " ".join(self._row(part, JOINTS))

    def _redirected(self, part: syntax.Compound) -> str:
        parts, behind = list[str](), list[str]()
        for each in part.parts:
            if isinstance(each, syntax.Heredoc):
                parts.append(self._heredoc(each, behind))
            elif isinstance(each, syntax.Redirection):
                parts.append(self._redirection(each))
            else:
                parts.append(self._statement(each))
        return " ".join([*parts, *behind])

    def _for(self, loop: syntax.ForLoop) -> str:
        *parts, body = loop.parts
        signs = {token.sign for token in loop.all_of(syntax.Token)}
        plain = "in" in signs and signs <= {"for", "in", *ENDS}
        if not plain or not isinstance(body, syntax.Compound) or body.kind != "do_group":
            raise Unclear(NOT_HERE)
        items = [self._words(part) for part in parts if not isinstance(part, syntax.Token)]
        return "\n".join([" ".join(["for", loop.variable, "in", *items]), self.block(body)])

    def _test(self, test: syntax.BracketTest) -> Iterator[str]:
        for part in test.parts:
            if not isinstance(part, syntax.Token):
                yield self.word(part)
            elif part.sign in known.BRACKET_TESTS[test.bracket]:
                yield part.sign
            else:
                raise Unclear(NOT_HERE)

    def _command(self, command: syntax.SimpleCommand) -> str:
        parts: list[str] = []
        for part in command.parts:
            match part:
                case syntax.CommandName():  # `time` in quotes would be another program
                    parts.append(part.text if part.text == "time" else quoted(part.text))
                case syntax.VariableAssignment(text=text) if text == NO_FIELDS and not parts:
                    parts.append(NO_FIELDS)
                case syntax.Redirection():
                    parts.append(self._redirection(part))
                case _:
                    parts.append(self._words(part))
        at = parts.index(GIT) + 1 if GIT in parts else len(parts)
        return " ".join([*parts[:at], *commit_only(parts[at:])])

    def _redirection(self, part: syntax.Redirection) -> str:
        operator, number = part.operator, part.descriptor
        if operator not in OPERATORS or len(part.parts) != 1 or not (number or "0").isdigit():
            raise Unclear(NOT_HERE)
        target = part.parts[0]
        if operator == ">&":
            return f"{number}>&{int(target.text if isinstance(target, syntax.BareText) else '')}"
        return f"{number}{operator} {self.word(target)}"

    def _heredoc(self, heredoc: syntax.Heredoc, behind: list[str]) -> str:
        """Its text as one word, and what else stands in the line where it begins."""
        more: list[str] = []
        for part in heredoc.parts:
            match part:
                case syntax.Redirection() if part.operator != "<<<":
                    more.append(self._redirection(part))
                case syntax.Compound(kind="pipeline"):
                    behind.append(self._joined(part))
                case syntax.Token(sign=sign) if sign in ENDS:
                    pass
                case _:
                    raise Unclear(NOT_HERE)
        text = re.sub(r"(?m)^\t+", "", heredoc.text) if heredoc.tabs else heredoc.text
        source = f"<<< {quoted(text.removesuffix(chr(10)))}" if text else "< /dev/null"
        return " ".join([source, *more])

    # ── words ───────────────────────────────────────────────────────────────────────────────────

    def _words(self, part: syntax.Syntax) -> str:
        """Where braces may make several words of one."""
        if isinstance(part, syntax.BraceList):
            return " ".join(self._literal(text, first=True) for text in part.words)
        return self.word(part)

    def word(self, part: syntax.Syntax, *, inside: bool = False, first: bool = True) -> str:
        """`inside`: of double quotes. `first`: a word begins with it."""
        match part:
            case syntax.BareText(text=text) if not part.pattern or not re.search(r"[()|]", text):
                return self._literal(text, first=first)
            case syntax.QuotedText(text=text):
                return quoted(text)
            case syntax.Token(sign=sign) if inside:
                return quoted(sign)
            case syntax.Variable(text=text):
                return self._variable(text, inside=inside)
            case syntax.AnsiText(text=text) if ANSI_C.fullmatch(text):
                return text
            case syntax.Arithmetic(text=text):
                return text
            case syntax.Substitution(process=True):
                return f"<(\n{self._within(part, '<(', ')')}\n)"
            case syntax.Substitution():
                made = f"$(\n{self._within(part, '$(', ')', '`')}\n)"
                return f'"{made}"' if inside else made
            case syntax.JoinedText(parts=parts, quoted=inside):
                pieces = [
                    self.word(piece, inside=inside, first=n == 0 and not inside)
                    for n, piece in enumerate(parts)
                ]
                return "".join(pieces) or quoted("")
            case _:
                raise Unclear(NOT_HERE)

    def _variable(self, text: str, *, inside: bool) -> str:
        found = expansion(text, self._values, quoted=inside)
        if found is not None and found.text is not None:
            return quoted(found.text)
        name = PLAIN_EXPANSION.fullmatch(text)
        if found is None or (name is None and not SPECIAL_EXPANSION.fullmatch(text)):
            raise Unclear(NOT_HERE)
        made = f"${{{name[1]}}}" if name is not None else text
        return f'"{made}"' if inside else made

    def _literal(self, text: str, *, first: bool) -> str:
        """Everything in quotes but wildcards and what a tilde stands for."""
        made: list[str] = []
        if first and text.startswith("~"):
            user, slash, rest = text.partition("/")
            if user != "~":
                raise Unclear(NOT_HERE)
            made.append(quoted(self._values.home + slash))
            text = rest
        fixed = text == "{}" or AT_BRACES.fullmatch(text) is not None
        plain, at = "", 0
        while at < len(text):
            wild = WILDCARD.match(text, at)
            if wild is not None:
                made += [quoted(plain)] * bool(plain) + [wild[0]]
                plain, at = "", wild.end()
                continue
            if text[at] == "\\":
                at += 1
            elif (text[at] in "[]{}`\n" and not fixed) or HIDDEN_TILDE.match(text, at - 1):
                raise Unclear(NOT_HERE)
            plain += text[at : at + 1]
            at += 1
        return "".join([*made, *([quoted(plain)] if plain or not made else [])])

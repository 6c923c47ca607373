"""Expand the words of a command: what a shell would make of them, as far as that is known now."""

import re
from collections.abc import Callable

from hermes.tools.shell import syntax
from hermes.tools.shell.programs import SENSITIVE_VARIABLE
from hermes.tools.shell.reasons import Reasons
from hermes.tools.shell.words import HOLE, Values, Word, expansion, literal

NO_WORD = Word(shape=HOLE)
BRACKETS = frozenset({"$(", ")", "`", "<("})


class WordReader:
    """`statement` judges what stands in a substitution; `names` says whether that prints nothing
    but names of files in reach; `values` are the variables that are known at this place."""

    def __init__(
        self,
        reasons: Reasons,
        values: Callable[[], Values],
        statement: Callable[[syntax.Syntax], None],
        names: Callable[[syntax.Substitution], bool],
    ) -> None:
        self._reasons = reasons
        self._values = values
        self._statement = statement
        self._names = names

    def words(self, part: syntax.Syntax) -> list[Word]:
        """Where braces may make several words of one."""
        if isinstance(part, syntax.BraceList):
            return [literal(text, self._values(), first=True) for text in part.words]
        return [self.word(part)]

    def word(self, part: syntax.Syntax, *, quoted: bool = False, first: bool = True) -> Word:
        match part:
            case syntax.BareText():
                return literal(part.text, self._values(), first=first)
            case syntax.QuotedText():
                return Word(shape=part.text, quoted=True)
            case syntax.JoinedText():
                return self._joined(part)
            case syntax.Variable():
                return self._variable(part.text, quoted=quoted)
            case syntax.Substitution():
                return self._substitution(part, quoted=quoted)
            case syntax.Arithmetic():
                return Word(shape=HOLE, quoted=quoted)
            case syntax.Token():
                return Word(shape=part.sign if quoted else HOLE)
            case syntax.Unsupported():
                self._reasons.ask(part.why)
        return NO_WORD

    def _variable(self, text: str, *, quoted: bool) -> Word:
        found = expansion(text, self._values(), quoted=quoted)
        if found is None:
            self._reasons.ask("it computes a value that is only known when it runs")
        elif found.variable and re.fullmatch(SENSITIVE_VARIABLE, found.variable):
            self._reasons.ask(f"${found.variable} may be a secret")
        return found or NO_WORD

    def _substitution(self, part: syntax.Substitution, *, quoted: bool) -> Word:
        for child in part.parts:
            if not isinstance(child, syntax.Token) or child.sign not in BRACKETS:
                self._statement(child)
        if part.process:
            return Word(shape="/dev/fd/63")
        return Word(shape=HOLE, quoted=quoted, found=not quoted and self._names(part))

    def _joined(self, part: syntax.JoinedText) -> Word:
        quoted = part.quoted
        pieces = [
            self.word(piece, quoted=quoted, first=n == 0 and not quoted)
            for n, piece in enumerate(part.parts)
        ]
        glob = not quoted and any(piece.glob for piece in pieces)
        variable = pieces[0].variable if len(pieces) == 1 else ""
        shape = "".join([piece.shape for piece in pieces])
        return Word(shape=shape, glob=glob, variable=variable, quoted=quoted)

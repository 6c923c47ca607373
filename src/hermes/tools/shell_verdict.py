"""May a shell command run without a question? Its syntax tree decides.

Anything that is not known to be harmless is a reason to ask; a few things are a reason to refuse.
The sandbox is the boundary. This only saves questions, so every doubt is one.
"""

import re
from collections.abc import Iterator, Sequence

from msgspec import Struct
from tree_sitter import Node

from hermes.core.messages import Effect
from hermes.core.rules import Allow, Ask, Deny
from hermes.tools import shell_readers as known
from hermes.tools.shell_calls import Calls
from hermes.tools.shell_effect import effect_of_tree
from hermes.tools.shell_paths import Place
from hermes.tools.shell_programs import SENSITIVE_VARIABLE
from hermes.tools.shell_reach import Reach
from hermes.tools.shell_reasons import Reasons
from hermes.tools.shell_syntax import DEPTH_MAX, Unclear, raw_of, text_of, tree_of
from hermes.tools.shell_words import HOLE, Call, Values, Word, expansion, literal, unescaped

PLAIN_NAME = re.compile(r"[A-Za-z0-9_.+:-]+", re.ASCII)
SEPARATORS = frozenset({"\n", *known.SEPARATORS})
DESCRIPTORS = frozenset({"0", "1", "2"})
WRITES = frozenset({">", ">>", "&>", "&>>"})
ARITHMETIC = re.compile(r"\$\(\([0-9 +*/%()-]+\)\)")
NO_FIELDS = b"IFS="  # what `read` splits lines at; empty, it keeps them whole
EXPANDED = re.compile(rb"[$`\\]")  # a shell acts on these in text without quotes
REDIRECTS = frozenset({"file_redirect", "herestring_redirect", "heredoc_redirect"})
NO_WORD = Word(shape=HOLE)


class Judgement(Struct, frozen=True, kw_only=True):
    """What is to be done about a command. `argv` is what to run where it is one plain program."""

    verdict: Allow | Ask | Deny
    effect: Effect
    why: str
    calls: tuple[Call, ...] = ()
    argv: tuple[str, ...] = ()


def judge(command: str, place: Place) -> Judgement:
    """Pure; the same answer for the same words."""
    if "\x00" in command:
        why = "it contains a NUL character, which no command can"
        return Judgement(verdict=Deny(why), effect=Effect.EFFECT, why=why)
    try:
        root = tree_of(command)
    except Unclear as unclear:
        return Judgement(verdict=Ask(str(unclear)), effect=Effect.EFFECT, why=str(unclear))
    walk = _Walk(place)
    walk.statement(root, 0)
    walk.calls.finish()
    effect, calls = effect_of_tree(root), tuple(walk.calls.seen)
    argv = _argv(root, calls)
    reasons = walk.reasons
    verdict: Allow | Ask | Deny = Allow()
    if reasons.refusals:
        verdict = Deny(reasons.refusals[0])
    elif reasons.questions:
        verdict = Ask("; ".join(reasons.questions))
    why = verdict.why if isinstance(verdict, Ask | Deny) else reasons.harmless()
    return Judgement(verdict=verdict, effect=effect, why=why, calls=calls, argv=argv)


def _argv(root: Node, calls: Sequence[Call]) -> tuple[str, ...]:
    """The words of a command line that is nothing but one program and literal words."""
    alone = [child for child in root.children if child.type != "comment"]
    if len(calls) != 1 or len(alone) != 1 or alone[0].type != "command":
        return ()
    if any(child.type in REDIRECTS for child in alone[0].children):
        return ()
    words = calls[0].literal
    return (calls[0].name, *words) if words is not None and calls[0].name else ()


class _Walk:
    """One pass over one command line."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.reasons = Reasons()
        self.reach = Reach(place, self.reasons)
        self.calls = Calls(self.reach)

    def statement(self, node: Node, depth: int) -> None:
        if depth >= DEPTH_MAX:
            self.reasons.ask("it is nested too deeply")
            return
        match node.type:
            case "command":
                self._command(node, depth)
            case "pipeline":
                self._pipeline(node, depth)
            case "redirected_statement":
                self._redirected(node, depth)
            case "for_statement":
                self._for(node, depth)
            case "while_statement":
                self._while(node, depth)
            case "test_command":
                self._test(node, depth)
            case "comment" if b"\\" not in raw_of(node):
                pass
            case "file_redirect":
                self._redirect(node, depth)
            case "variable_assignment":
                self._assignment(node, depth)
            case kind:
                self._others(node, kind, depth)

    def _assignment(self, node: Node, depth: int) -> None:
        self.reasons.ask("it sets a variable")
        for child in node.named_children[1:]:
            self.word(child, depth + 1)

    def _others(self, node: Node, kind: str, depth: int) -> None:
        if not (kind in known.STATEMENTS if node.is_named else kind in SEPARATORS):
            self.reasons.ask(f"{kind.replace('_', ' ')} is not judged here")
        for child in node.children:
            self.statement(child, depth + 1)

    def _pipeline(self, node: Node, depth: int) -> None:
        """What stands before xargs decides what xargs gives on."""
        before: Call | None = None
        for child in node.children:
            if child.type == "command":
                before = self._command(child, depth, before)
            else:
                self.statement(child, depth + 1)
                before = before if not child.is_named else None

    def _redirected(self, node: Node, depth: int) -> None:
        body = False
        for child in node.children:
            if child.type in REDIRECTS:
                self._redirect(child, depth + 1)
            else:
                body = True
                self.statement(child, depth + 1)
        if not body:
            self.reasons.ask("a redirection without a command empties a file")

    def _for(self, node: Node, depth: int) -> None:
        name, items = "", list[Word]()
        for child in node.children:
            match child.type:
                case "variable_name":
                    name = text_of(child)
                    if not re.fullmatch(known.LOOP_NAME, name):
                        self.reasons.ask(f"the loop sets {name}, which a shell may act on")
                case "do_group" | "compound_statement":
                    self.reach.loop_over(name, items)
                    self.reach.loops += 1
                    self.statement(child, depth + 1)
                    self.reach.loops -= 1
                case _ if child.is_named:
                    items.append(self.word(child, depth + 1))
                    counted = child.type in ("brace_expression", "concatenation", "word")
                    if counted and HOLE in items[-1].shape:
                        self.reasons.ask("a loop over what only a shell can count")
                case kind:
                    if kind not in SEPARATORS:
                        self.reasons.ask(f"{kind} in a loop is not judged here")

    def _while(self, node: Node, depth: int) -> None:
        condition = next((child for child in node.named_children), None)
        words = text_of(condition).removeprefix("IFS= ").split() if condition is not None else []
        reads = words[:1] == ["read"]
        if not reads:
            self.reasons.ask("a loop without an end in sight")
        self.reach.loops += 1
        for child in node.children:
            self.statement(child, depth + 1)
        self.reach.loops -= 1

    def _test(self, node: Node, depth: int) -> None:
        bracket = node.children[0].type
        allowed = known.BRACKET_TESTS.get(bracket, frozenset())
        self.calls.looks = True
        waiting = list(node.children)
        while waiting:
            part = waiting.pop()
            if part.type in ("unary_expression", "binary_expression", "parenthesized_expression"):
                waiting += part.children
            elif part.type == "test_operator" or not part.is_named:
                if text_of(part) not in allowed:
                    self.reasons.ask(f"the test {text_of(part)} may run something")
            else:
                word = self.word(part, depth + 1)
                if word.text is None and not word.quoted and bracket != "[[":
                    self.reasons.ask("a test of what is only known when it runs")
                self.reach.refuse_secret(word)

    def _redirect(self, node: Node, depth: int) -> None:
        if node.type == "heredoc_redirect":
            self._heredoc(node, depth)
            return
        kinds = [child.type for child in node.children if not child.is_named]
        words = [child for child in node.named_children if child.type != "file_descriptor"]
        if len(kinds) != 1 or len(words) != 1:
            self.reasons.ask("a redirection that is not judged here")
            return
        word, kind = self.word(words[0], depth + 1), kinds[0]
        if kind == "<<<":
            return
        if word.shape.startswith(("/dev/tcp", "/dev/udp")):
            self.reasons.refuse("it opens a connection")
        elif kind in WRITES:
            if word.text != "/dev/null":
                self.reach.path("write", word, "a redirection")
        elif kind == "<":
            self.reach.path("read", word, "a redirection")
        elif kind != ">&" or word.text not in DESCRIPTORS:
            self.reasons.ask(f"the redirection {kind} is not judged here")

    def _heredoc(self, node: Node, depth: int) -> None:
        """Text that stands in the command itself, and what follows it on the same line. The
        parser does not see all that a shell expands in it, so its letters decide."""
        bare = True
        for child in node.children:
            match child.type:
                case "heredoc_start":
                    bare = not any(quote in raw_of(child) for quote in (b"'", b'"', b"\\"))
                case "<<" | "<<-" | "heredoc_end" | "heredoc_content":
                    pass
                case "heredoc_body":
                    if bare and EXPANDED.search(raw_of(child)):
                        self.reasons.ask("text in it is only known when it runs")
                case kind if kind in REDIRECTS:
                    self._redirect(child, depth + 1)
                case "pipeline" | "command" | "list":
                    self.statement(child, depth + 1)
                case kind:
                    if kind not in SEPARATORS:
                        self.reasons.ask("text in it that is not judged here")

    def _command(self, node: Node, depth: int, before: Call | None = None) -> Call | None:
        name, spelled, words, sets = "", "", list[Word](), list[Node]()
        for child in node.children:
            if child.type == "command_name":
                name = spelled = text_of(child)
                plain = [part.type for part in child.named_children] == ["word"]
                if not plain or PLAIN_NAME.fullmatch(name) is None:
                    name = ""
            elif child.type in REDIRECTS:
                self._redirect(child, depth + 1)
            elif not child.is_named:
                self.reasons.ask(f"{child.type} is not judged here")
            elif child.type == "variable_assignment":
                sets.append(child)
            else:
                words.append(self.word(child, depth + 1))
        for child in sets:
            if name != "read" or raw_of(child) != NO_FIELDS:
                self.statement(child, depth + 1)
        call = Call(name=name, words=tuple(words), spelled=spelled)
        self.calls.judge(call, before)
        return call

    def word(self, node: Node, depth: int, *, quoted: bool = False, first: bool = True) -> Word:
        if depth >= DEPTH_MAX or not node.is_named:
            self.reasons.ask("it is nested too deeply")
            return NO_WORD
        match node.type:
            case "word" | "number" | "extglob_pattern":
                return literal(text_of(node), self._values(), first=first)
            case "raw_string":
                return Word(shape=text_of(node)[1:-1], quoted=True)
            case "simple_expansion" | "expansion":
                return self._expansion(node, quoted=quoted)
            case "ansi_c_string" | "brace_expression":
                return NO_WORD
            case "command_substitution" | "process_substitution":
                return self._substitution(node, depth, quoted=quoted)
            case "concatenation" if raw_of(node) == b"{}":
                return Word(shape="{}")
            case "string" | "concatenation":
                return self._joined(node, depth)
            case "arithmetic_expansion" if ARITHMETIC.fullmatch(text_of(node)):
                return Word(shape=HOLE, quoted=quoted)
            case kind:
                self.reasons.ask(f"{kind.replace('_', ' ')} is not judged here")
                return NO_WORD

    def _expansion(self, node: Node, *, quoted: bool) -> Word:
        found = expansion(node, self._values(), quoted=quoted)
        if found is None:
            self.reasons.ask("an expansion that computes")
        elif found.variable and re.fullmatch(SENSITIVE_VARIABLE, found.variable):
            self.reasons.ask(f"${found.variable} may be a secret")
        return found or NO_WORD

    def _substitution(self, node: Node, depth: int, *, quoted: bool) -> Word:
        for child in node.children:
            if child.is_named or child.type not in ("$(", ")", "`", "<("):
                self.statement(child, depth + 1)
        inner = node.type == "process_substitution"
        return Word(shape="/dev/fd/63") if inner else Word(shape=HOLE, quoted=quoted)

    def _joined(self, node: Node, depth: int) -> Word:
        """A string, or several pieces in a row."""
        quoted = node.type == "string"
        pieces = list(self._pieces(node, depth, quoted=quoted))
        if len(pieces) == 1:
            return Word(
                shape=pieces[0].shape,
                glob=pieces[0].glob and not quoted,
                variable=pieces[0].variable,
                quoted=quoted,
            )
        shape = "".join(piece.shape for piece in pieces)
        glob = not quoted and any(piece.glob for piece in pieces)
        return Word(shape=shape, glob=glob, quoted=quoted)

    def _pieces(self, node: Node, depth: int, *, quoted: bool) -> Iterator[Word]:
        """White space that the parser leaves out of a string belongs to it all the same."""
        raw, end = raw_of(node), node.start_byte
        for n, child in enumerate(node.children):
            if child.start_byte > end:
                gap = raw[end - node.start_byte : child.start_byte - node.start_byte]
                yield Word(shape=gap.decode("utf-8", "replace"))
            end = child.end_byte
            if child.type == "string_content":
                yield Word(shape=unescaped(text_of(child)), quoted=True)
            elif child.is_named:
                yield self.word(child, depth + 1, quoted=quoted, first=n == 0 and not quoted)
            elif child.type != '"':
                yield Word(shape=text_of(child) if quoted else HOLE)

    def _values(self) -> Values:
        cwds = self.reach.cwds
        return Values(home=self.place.home, cwd=cwds[0] if len(cwds) == 1 else "")

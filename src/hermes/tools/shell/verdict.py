"""Decide whether a shell command may run without a question.

Anything that is not known to be harmless is a reason to ask; a few things are a reason to refuse.
The sandbox is the boundary. This only saves questions, so every doubt is one.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from hermes.core.messages import Effect
from hermes.core.rules import Allow, Ask, Deny
from hermes.tools.shell import readers as known
from hermes.tools.shell import syntax
from hermes.tools.shell.effect import effect_of_program
from hermes.tools.shell.expand import WordReader
from hermes.tools.shell.invocations import InvocationChecker
from hermes.tools.shell.overwrites import EMPTIES, Overwrite, prints_nothing
from hermes.tools.shell.parser import Unclear
from hermes.tools.shell.path_checker import PathChecker
from hermes.tools.shell.paths import CommandPlace
from hermes.tools.shell.reasons import Reasons
from hermes.tools.shell.render import NO_FIELDS, render
from hermes.tools.shell.tree import NO_HEREDOC, program_of
from hermes.tools.shell.words import HOLE, Invocation, Values, Word

DESCRIPTORS = frozenset({"0", "1", "2"})
WRITES, APPENDS = frozenset({">", "&>"}), frozenset({">>", "&>>"})
NULL = syntax.BareText(text="/dev/null")
BESIDE_WORDS = (syntax.Redirection, syntax.Heredoc, syntax.VariableAssignment)
EXPANDED = re.compile(r"[$`\\]")  # a shell acts on these in text without quotes


class Judgement(Struct, frozen=True, kw_only=True):
    """What is known of a command after judging it.

    `argv` are its words where it is one plain program; `text` is the command written down again
    from its tree, for a command that is allowed: that is what runs. `reads`: it changes nothing.
    `overwrites`: files that would lose their content, if they are there.
    """

    verdict: Allow | Ask | Deny
    effect: Effect
    why: str
    invocations: tuple[Invocation, ...] = ()
    argv: tuple[str, ...] = ()
    text: str = ""
    reads: bool = False
    overwrites: tuple[Overwrite, ...] = ()
    inputs: tuple[str, ...] = ()  # files that are fed into it
    boxed: bool = False  # it is asked about for code that a closed box holds, and nothing else


def judge(command: str, place: CommandPlace) -> Judgement:
    """Return the verdict, the effect and what may run. Pure: it looks at no file."""
    if "\x00" in command:
        why = "it contains a NUL character, which no command can"
        return Judgement(verdict=Deny(why), effect=Effect.EFFECT, why=why)
    try:
        program = program_of(command)
    except Unclear as unclear:
        return Judgement(verdict=Ask(str(unclear)), effect=Effect.EFFECT, why=str(unclear))
    judging = _Judging(place)
    judging.statement(program)
    judging.calls.finish()
    effect, calls = effect_of_program(program), tuple(judging.calls.seen)
    argv = _argv(program, calls)
    reasons, text = judging.reasons, ""
    if not reasons.refusals and not reasons.questions:
        text = judging.rendered(program)
    verdict: Allow | Ask | Deny = Allow()
    if reasons.refusals:
        verdict = Deny(reasons.refusals[0])
    elif reasons.questions:
        verdict = Ask("; ".join(reasons.questions))
    why = verdict.why if isinstance(verdict, Ask | Deny) else reasons.harmless()
    return Judgement(
        verdict=verdict,
        effect=effect,
        why=why,
        invocations=calls,
        argv=argv,
        text=text,
        reads=bool(text) and not reasons.writes,
        overwrites=tuple(judging.checker.overwrites.found),
        inputs=tuple(judging.inputs),
        boxed=bool(reasons.questions) and not reasons.refusals and reasons.boxed,
    )


def _argv(program: syntax.Compound, calls: Sequence[Invocation]) -> tuple[str, ...]:
    """The words of a command line that is nothing but one program and literal words."""
    alone = [part for part in program.parts if not isinstance(part, syntax.Comment)]
    if len(calls) != 1 or len(alone) != 1 or not isinstance(alone[0], syntax.SimpleCommand):
        return ()
    words = calls[0].literal
    plain = not any(isinstance(part, BESIDE_WORDS) for part in alone[0].parts)
    return (calls[0].name, *words) if plain and words is not None and calls[0].name else ()


class _Judging:
    """Judge the parts of one command line in their order, and gather reasons."""

    def __init__(self, place: CommandPlace) -> None:
        self.place = place
        self.reasons = Reasons()
        self.checker = PathChecker(place, self.reasons)
        self.calls = InvocationChecker(self.checker)
        self.inputs: list[str] = []
        reader = WordReader(self.reasons, self._values, self.statement, self._prints_names)
        self._word, self._words = reader.word, reader.words

    def rendered(self, program: syntax.Compound) -> str:
        """Empty, and a reason to ask, where the program has no plain form."""
        try:
            return render(program, Values(home=self.place.home, cwd=""))
        except Unclear as unclear:
            self.reasons.ask(str(unclear))
            return ""

    def statement(self, part: syntax.Syntax) -> None:
        match part:
            case syntax.SimpleCommand():
                self._command(part)
            case syntax.Redirection():
                self._redirection(part)
            case syntax.Heredoc():
                self._heredoc(part)
            case syntax.Compound(kind="pipeline"):
                self._pipeline(part)
            case syntax.Compound(kind="redirected_statement"):
                self._redirected(part)
            case syntax.WhileLoop():
                self._while(part)
            case syntax.Compound():
                self._demand_known(part)
                self._statements(part)
            case syntax.ForLoop():
                self._for(part)
            case syntax.BracketTest():
                self._test(part)
            case syntax.VariableAssignment():
                self.reasons.ask_about_code("it sets a variable")
                for value in part.parts:
                    self._word(value)
            case _:
                self._demand_known(part)

    def _demand_known(self, part: syntax.Syntax) -> None:
        match part:
            case syntax.Token() if part.sign not in known.SEPARATORS:
                self.reasons.ask(f"I cannot check its {part.sign}")
            case syntax.Compound() if part.kind not in known.STATEMENTS:
                self.reasons.ask(f"I cannot check its {part.kind.replace('_', ' ')}")
            case syntax.Comment() if not part.plain:
                self.reasons.ask("I cannot check its comment")
            case syntax.Unsupported():
                self.reasons.ask(part.why)

    def _statements(self, compound: syntax.Compound) -> None:
        for part in compound.parts:
            self.statement(part)

    def _pipeline(self, pipeline: syntax.Compound) -> None:
        """What stands before xargs decides what xargs gives on."""
        before: Invocation | None = None
        for part in pipeline.parts:
            if isinstance(part, syntax.SimpleCommand):
                before = self._command(part, before)
            else:
                self.statement(part)
                before = before if isinstance(part, syntax.Token) else None

    def _redirected(self, compound: syntax.Compound) -> None:
        before = len(self.calls.seen)
        self._statements(compound)
        if all(isinstance(part, syntax.Redirection | syntax.Heredoc) for part in compound.parts):
            self.reasons.ask("a redirection without a command empties a file")
        self._demand_content(compound, self.calls.seen[before:])

    def _demand_content(self, command: syntax.Syntax, calls: Sequence[Invocation]) -> None:
        """A file that gets nothing loses everything."""
        redirections = command.all_of(syntax.Redirection)
        empties = any(r.operator in WRITES and r.parts[-1:] != (NULL,) for r in redirections)
        first = command.parts[0]
        last = isinstance(first, syntax.Compound) and first.kind in ("list", "pipeline")
        printing = calls[-1:] if last else calls  # it is the last one's output
        if empties and calls and all(map(prints_nothing, printing)):
            self.reasons.ask(EMPTIES)
        if "/dev/null" in self.inputs and any(call.name == "tee" for call in calls):
            self.reasons.ask(EMPTIES)

    def _for(self, loop: syntax.ForLoop) -> None:
        *parts, body = loop.parts
        for token in loop.all_of(syntax.Token):
            if token.sign not in known.SEPARATORS:
                self.reasons.ask(f"I cannot check its loop ({token.sign})")
        if not re.fullmatch(known.LOOP_NAME, loop.variable):
            self.reasons.ask(f"the loop sets {loop.variable}, which the shell may act on")
        items: list[Word] = []
        for part in parts:
            if isinstance(part, syntax.Token):
                continue
            items += self._words(part)
            bare = isinstance(part, syntax.BareText | syntax.BraceList | syntax.BraceRange) or (
                isinstance(part, syntax.JoinedText) and not part.quoted
            )
            if bare and HOLE in items[-1].shape:
                self.reasons.ask("it loops over words that are only known when it runs")
        self.checker.loop_over(loop.variable, items)
        self.checker.loops += 1
        self.statement(body)
        self.checker.loops -= 1

    def _while(self, loop: syntax.WhileLoop) -> None:
        if not loop.reads:
            self.reasons.ask("it may loop for ever")
        self.checker.loops += 1
        self._statements(loop)
        self.checker.loops -= 1

    def _test(self, test: syntax.BracketTest) -> None:
        allowed = known.BRACKET_TESTS.get(test.bracket, frozenset())
        self.calls.looks = True
        for part in reversed(test.parts):
            if isinstance(part, syntax.Token):
                if part.sign not in allowed:
                    self.reasons.ask(f"the test {part.sign} may run something")
                continue
            word = self._word(part)
            if word.text is None and not word.quoted and test.bracket != "[[":
                self.reasons.ask("it tests a value that is only known when it runs")
            self.checker.refuse_secret(word)

    def _redirection(self, part: syntax.Redirection) -> None:
        kind = part.operator
        if not kind or len(part.parts) != 1:
            self.reasons.ask("I cannot check one of its redirections")
            return
        word = self._word(part.parts[0])
        if kind == "<<<":
            return
        if word.shape.startswith(("/dev/tcp", "/dev/udp")):
            self.reasons.refuse("it opens a connection")
        elif kind in APPENDS:
            if word.text != "/dev/null":
                self.checker.path("write", word, "a redirection")
        elif kind in WRITES:
            if word.text != "/dev/null":
                self.checker.overwrite(word, "a redirection")
        elif kind == "<":
            self.inputs += [word.text] if word.text is not None else []
            self.checker.path("read", word, "a redirection")
        elif kind != ">&" or word.text not in DESCRIPTORS:
            self.reasons.ask(f"I cannot check its redirection {kind}")

    def _heredoc(self, heredoc: syntax.Heredoc) -> None:
        """The parser does not see all that a shell expands in the text, so its letters decide."""
        for part in heredoc.parts:
            if isinstance(part, syntax.Token) and part.sign not in known.SEPARATORS:
                self.reasons.ask(NO_HEREDOC.why)
            else:
                self.statement(part)
        if heredoc.expands and EXPANDED.search(heredoc.text):
            self.reasons.ask("it has text that is only known when it runs")

    def _command(
        self, command: syntax.SimpleCommand, before: Invocation | None = None
    ) -> Invocation:
        name, spelled, words, sets = "", "", list[Word](), list[syntax.VariableAssignment]()
        for part in command.parts:
            match part:
                case syntax.CommandName():
                    name, spelled = part.text if part.plain else "", part.text
                case syntax.Redirection() | syntax.Heredoc():
                    self.statement(part)
                case syntax.VariableAssignment():
                    sets.append(part)
                case syntax.Token():
                    self.reasons.ask(f"I cannot check its {part.sign}")
                case _:
                    words += self._words(part)
        for each in sets:
            if name != "read" or each.text != NO_FIELDS:
                self.statement(each)
        call = Invocation(name=name, words=tuple(words), spelled=spelled)
        self.calls.judge(call, before)
        self._demand_content(command, [call])
        return call

    def _prints_names(self, substitution: syntax.Substitution) -> bool:
        """Is there one program in it, and does it print names of files in reach and no more?"""
        alone = [part for part in substitution.parts if not isinstance(part, syntax.Token)]
        one = len(alone) == 1 and isinstance(alone[0], syntax.SimpleCommand)
        return one and self.calls.prints_names(self.calls.seen[-1])

    def _values(self) -> Values:
        cwds = self.checker.cwds
        return Values(home=self.place.home, cwd=cwds[0] if len(cwds) == 1 else "")

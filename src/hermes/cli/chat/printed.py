"""Print the replies of a conversation, each once, for a person or a script."""

from collections.abc import Callable, Mapping, Sequence

from hermes.cli.chat.answer import MessageOutcome, ReplyTracker
from hermes.cli.lookup.session_keys import session_name
from hermes.cli.output.console import Console
from hermes.cli.output.hints import as_called
from hermes.core.messages import Reply

BEFORE = "From before:"
INTERRUPTED = (
    "The turn was interrupted and does not resume automatically. Its work is saved. "
    "To continue: hermes chat -q continue --session {0}"
)
ASKING = "Question {0.id} waits for your answer. Answer it with:\n  {0.command}    (or: {1})"
WANTED = "I wait for your answer. Give it with:\n  {0.command}"
KEPT = "Your message is saved. I will answer it after that question."

Document = Callable[[MessageOutcome, Sequence[Reply]], Mapping[str, object]]


class ReplyPrinter:
    """Print the answer on standard output, everything else on standard error.

    A reply is first shown and then noted as delivered, so that a chat killed in between leaves it
    for the next one. JSON output is made from `outcome`, which is known when the last reply comes.
    """

    def __init__(
        self,
        console: Console,
        tracker: ReplyTracker,
        *,
        said: Sequence[str] = (),
        document: Document | None = None,
        prefix: str = "",
    ) -> None:
        self._console = console
        self._tracker = tracker
        self._said = said  # texts that stand on the screen already
        self._document = document
        self._prefix = prefix
        self._shown: set[tuple[str, str]] = set()
        self._others: list[Reply] = []
        self._headed = False
        self._told = False
        self.early = True  # nothing has been said yet: what comes is from before
        self.outcome: MessageOutcome | None = None

    @property
    def complete(self) -> bool:
        """Return True if everything has been printed."""
        return self.outcome is not None and not self._open and (self._told or not self._document)

    @property
    def _open(self) -> list[Reply]:
        return [r for r in self._tracker.replies if (r.id, r.text) not in self._shown]

    def show(self, reply: Reply) -> None:
        mark = (reply.id, reply.text)
        if mark in self._shown:
            return
        mine = any((each.id, each.text) == mark for each in self._tracker.replies)
        self._shown.add(mark)
        if mine:
            self._print(reply)
        elif self.early:
            self._tell_early(reply)
        else:
            self._others.append(reply)
            if self._document is None and reply.text not in self._said:
                self._console.pass_on(reply.text)

    def card(self, question: Reply) -> None:
        """Print a question once, also one that an earlier turn asked."""
        if (question.id, question.text) not in self._shown:
            self._shown.add((question.id, question.text))
            self._console.note(f"hermes: {question.text}")

    def rest(self) -> None:
        """Print the remaining replies, including those that another chat of this session
        delivered."""
        for reply in self._open:
            self.show(reply)
        self._tell_document()
        if self.outcome is not None and self._document is None:
            self._hint(self.outcome)

    def _hint(self, outcome: MessageOutcome) -> None:
        """Say what a person can do about a turn that is not finished."""
        if (question := outcome.question) is not None:
            self.card(question.card)
            if question.words:
                self._console.tell(as_called(WANTED.format(question), self._console.environ))
                return
            always = any(label == "Always" for _, label, _ in question.choices())
            others = ("deny", *(("always",) if always else ()))
            self._console.tell(ASKING.format(question, ", ".join(others)))
            if outcome.state == "waiting":
                self._console.tell(KEPT)
        elif outcome.state == "running":
            self._console.tell(INTERRUPTED.format(session_name(outcome.key)))

    def _tell_early(self, reply: Reply) -> None:
        if not self._headed:
            self._headed = True
            self._console.tell(BEFORE)
        self._console.pass_on(reply.text)

    def _print(self, reply: Reply) -> None:
        beside = reply.kind == "notice" and self._tracker.turn is not None
        if self._document is not None:
            if not self._open:
                self._tell_document()
        elif reply.kind == "question" or beside:
            text = as_called(reply.text, self._console.environ) if beside else reply.text
            self._console.note(f"hermes: {text}")
        elif reply.text not in self._said:
            self._console.say(f"{self._prefix}{reply.text}")

    def _tell_document(self) -> None:
        if self._document is not None and self.outcome is not None and not self._told:
            self._told = True
            self._console.document(self._document(self.outcome, self._others))

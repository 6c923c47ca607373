"""What a person or a script gets to see of a conversation: each reply once, in its place."""

from collections.abc import Callable, Mapping, Sequence

from hermes.cli.answer import Answered, Tale
from hermes.cli.console import Console
from hermes.cli.lanes import called
from hermes.core.messages import Reply

BEFORE = "From before:"
HINTS = {
    "asking": "Answer with: hermes chat -q /approve --session {0} (or -q /deny)",
    "running": "The turn was interrupted and is not taken up again by itself. What it did is kept. "
    "To go on: hermes chat -q continue --session {0}",
}

Document = Callable[[Answered, Sequence[Reply]], Mapping[str, object]]


class Printed:
    """The answer on standard output, everything else beside it.

    A reply is shown first and noted as delivered then, so that a chat which is killed in between
    leaves it for the next one. A document is made of the `outcome`, which is known by the time
    that the last reply comes.
    """

    def __init__(
        self,
        console: Console,
        tale: Tale,
        *,
        said: Sequence[str] = (),
        document: Document | None = None,
        prefix: str = "",
    ) -> None:
        self._console = console
        self._tale = tale
        self._said = said  # texts that stand on the screen already
        self._document = document
        self._prefix = prefix
        self._shown: set[tuple[str, str]] = set()
        self._others: list[Reply] = []
        self._headed = False
        self._told = False
        self.early = True  # nothing has been said yet: what comes is from before
        self.outcome: Answered | None = None

    @property
    def complete(self) -> bool:
        """There is nothing more to see."""
        return self.outcome is not None and not self._open and (self._told or not self._document)

    @property
    def _open(self) -> list[Reply]:
        return [r for r in self._tale.replies if (r.id, r.text) not in self._shown]

    def show(self, reply: Reply) -> None:
        mark = (reply.id, reply.text)
        if mark in self._shown:
            return
        mine = any((each.id, each.text) == mark for each in self._tale.replies)
        self._shown.add(mark)
        if mine:
            self._print(reply)
        elif self.early:
            self._tell_early(reply)
        else:
            self._others.append(reply)
            if self._document is None and reply.text not in self._said:
                self._console.tell(reply.text)

    def rest(self) -> None:
        """What another chat of this lane has delivered is ours to show all the same."""
        for reply in self._open:
            self.show(reply)
        self._tell_document()
        if self.outcome is not None and self._document is None:
            self._hint(self.outcome)

    def _hint(self, outcome: Answered) -> None:
        """What a person can do about a turn that has not come to its end."""
        if outcome.state in HINTS:
            self._console.tell(HINTS[outcome.state].format(called(outcome.key)))

    def _tell_early(self, reply: Reply) -> None:
        if not self._headed:
            self._headed = True
            self._console.tell(BEFORE)
        self._console.tell(reply.text)

    def _print(self, reply: Reply) -> None:
        beside = reply.kind == "notice" and self._tale.turn is not None
        if self._document is not None:
            if not self._open:
                self._tell_document()
        elif reply.kind == "question" or beside:
            self._console.stderr.write(f"hermes: {reply.text}\n")
        elif reply.text not in self._said:
            self._console.say(f"{self._prefix}{reply.text}")

    def _tell_document(self) -> None:
        if self._document is not None and self.outcome is not None and not self._told:
            self._told = True
            self._console.document(self._document(self.outcome, self._others))

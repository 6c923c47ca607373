"""Questions of the agent, answered by one key. Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hermes.core.events import QuestionAsked
from hermes.core.ids import CallId, ReplyId
from hermes.core.messages import Reply
from hermes.views.honest import straight

GRACE_S = 0.6  # a key that was on its way when the question came up is no answer to it
_KEYS = {"approve": "y", "yes": "y", "deny": "n", "no": "n", "always": "a"}


class Question(Struct, frozen=True, kw_only=True):
    """What waits for a person. `answers`: the key, its label, and what pressing it says."""

    reply: ReplyId
    call: CallId
    text: str
    answers: tuple[tuple[str, str, str], ...] = ()

    def says(self, key: str) -> str:
        return next((said for each, _, said in self.answers if each == key), "")


def asked(event: QuestionAsked) -> Question:
    question = event.question
    return Question(
        reply=question.id,
        call=event.call,
        text=straight(question.text),
        answers=tuple(answers(question)),
    )


def answers(question: Reply) -> Sequence[tuple[str, str, str]]:
    """A letter where the label is one of the usual words, else its number."""
    found: dict[str, tuple[str, str, str]] = {}
    for number, (said, words) in enumerate(question.buttons, 1):
        key = _KEYS.get(said.lower(), "")
        key = key if key and key not in found else str(number)
        found[key] = (key, straight(said), words)
    return list(found.values())


def keys(question: Question) -> Mapping[str, str]:
    return {key: said for key, said, _ in question.answers}

"""Questions of the agent, answered by one key. Pure."""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from hermes.core.events import QuestionAsked
from hermes.core.ids import CallId, ReplyId
from hermes.core.messages import Reply
from hermes.text.visible_text import visible_lines
from hermes.views.cards import OTHER

GRACE_S = 0.6  # a key that was on its way when the question came up is no answer to it
_KEYS = {
    "approve": "y",
    "yes": "y",
    "yes, for this session": "s",
    "yes, for this folder": "f",
    "always": "a",
    "deny": "n",
    "no": "n",
}


class QuestionCard(Struct, frozen=True, kw_only=True):
    """An open question. `answers` are the key, its label, and the text that pressing it sends."""

    reply: ReplyId
    call: CallId
    text: str
    answers: tuple[tuple[str, str, str], ...] = ()
    words: bool = False  # any other line is an answer, too

    def says(self, key: str) -> str:
        return next((said for each, _, said in self.answers if each == key), "")


def question_card(event: QuestionAsked) -> QuestionCard:
    question = event.question
    return QuestionCard(
        reply=question.id,
        call=event.call,
        text=visible_lines(question.text),
        answers=tuple(choices(question) if event.wants_text else answers(question)),
        words=event.wants_text,
    )


def choices(question: Reply) -> Sequence[tuple[str, str, str]]:
    """Return the numbers of the choices; for something else a person just writes."""
    numbered = enumerate(question.buttons, 1)
    keys = [(str(n), visible_lines(said), words) for n, (said, words) in numbered]
    return [key for key in keys if key[1] != OTHER]


def answers(question: Reply) -> Sequence[tuple[str, str, str]]:
    """Return the keys of a question: a letter where the label is a usual word, else its number."""
    found: dict[str, tuple[str, str, str]] = {}
    for number, (said, words) in enumerate(question.buttons, 1):
        key = _KEYS.get(said.lower(), "")
        key = key if key and key not in found else str(number)
        found[key] = (key, visible_lines(said), words)
    return list(found.values())


def keys(question: QuestionCard) -> Mapping[str, str]:
    return {key: said for key, said, _ in question.answers}

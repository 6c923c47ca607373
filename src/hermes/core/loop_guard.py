"""Notice when we talk with a program that answers by itself: another bot, an auto-reply (P8).

Answers in a row to one such sender are counted until a person speaks in the same session. Beyond
the limit the session waits for the owner; after a no that sender is not read any more.
"""

from msgspec.json import encode

from hermes.core.ids import CallId
from hermes.core.messages import LOOP, Call, Inbound
from hermes.core.session import Session, Turn

ANSWERS_MAX, SENDERS_MAX = 3, 20
REFUSED = -1  # instead of a count
WHY = f"a program has had {ANSWERS_MAX} answers in a row, and no person has spoken in between"


def loop_call(turn: Turn) -> Call:
    """What the owner is asked about. The id is no call's of a model."""
    text = encode({"text": f"{turn.address.platform}:{turn.sender}"}).decode()
    return Call(id=CallId(f"{turn.id}-loop"), tool=LOOP, arguments=text)


def answers(session: Session, sender: str) -> int:
    return session.answered.get(sender, 0)


def counted(session: Session, turn: Turn, count: int) -> dict[str, int]:
    """So many answers in a row has the turn's sender had; the oldest senders are forgotten."""
    others = [(id_, n) for id_, n in session.answered.items() if id_ != turn.sender]
    return dict([*others, (turn.sender, count)][-SENDERS_MAX:])


def after_words(session: Session, taken: tuple[Inbound, ...]) -> dict[str, int]:
    person = any(i.origin == "person" and not i.automatic for i in taken)
    return {} if person else session.answered

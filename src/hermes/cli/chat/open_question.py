"""The question that a session waits for: find it, ask it at a terminal, or say how to answer."""

import asyncio
import os
import signal
import termios
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from hermes.cli.lookup.session_keys import session_name
from hermes.cli.output.console import Console
from hermes.cli.output.times import iso
from hermes.core.events import QuestionAsked
from hermes.core.ids import SessionKey
from hermes.core.messages import Reply
from hermes.core.store import Store
from hermes.tui.questions import answers, choices

LOOK_S = 1.0  # between checks whether another window has answered
LINE_BYTES_MAX = 4_096
WORDS = {"yes": "y", "no": "n", "always": "a"}
SETTLED = "\nThat question was answered somewhere else.\n"


class OpenQuestion(Struct, frozen=True, kw_only=True):
    """An open question. `card` is the reply that asks it."""

    id: str
    key: SessionKey
    tool: str
    why: str
    asked_at: float
    expires_at: float
    card: Reply
    words: bool = False  # the answer is the result, not a yes or a no

    @property
    def command(self) -> str:
        """Return the command that a person types to say yes, or to answer."""
        if self.words:
            return f'hermes chat -q "YOUR ANSWER" --session {session_name(self.key)}'
        return f"hermes approvals answer {self.id} approve"

    def choices(self) -> Sequence[tuple[str, str, str]]:
        """Return the answers: the key, its label, and the text that pressing it sends."""
        if self.words:
            return choices(self.card)
        usual = (("y", "Approve", f"/approve {self.id}"), ("n", "Deny", f"/deny {self.id}"))
        return answers(self.card) or usual

    def document(self) -> Mapping[str, object]:
        return {
            "id": self.id,
            "session": self.key,
            "tool": self.tool,
            "preview": self.card.text,
            "why": self.why,
            "asked_at": iso(self.asked_at),
            "expires_at": iso(self.expires_at or None),
            "answer_with": self.command,
        }


class TypedAnswer(Struct, frozen=True):
    """What a person typed. `said` goes to the session. `left`: Ctrl+C. `closed`: the terminal's
    input has ended. `settled`: the question was answered elsewhere."""

    how: Literal["said", "left", "closed", "settled"]
    said: str = ""


FindQuestion = Callable[[], Awaitable[OpenQuestion | None]]


async def open_question(store: Store, key: SessionKey) -> OpenQuestion | None:
    """Return the question that the session, or one that works for it, waits for now, if any."""
    session = await store.journal.load(key)
    if not session.questions:
        found = [await open_question(store, child) for child in session.children]
        return next((each for each in found if each is not None), None)
    if session.turn is None:
        return None
    events = await store.journal.since(key, session.turn.first - 1)
    first = session.questions[0].question
    asked = [event for event in events if isinstance(event, QuestionAsked) and event.id == first]
    row = await store.library.question(first)
    if not asked or row is None:
        return None
    return OpenQuestion(
        id=row.id,
        key=key,
        tool=row.tool,
        why=row.why,
        asked_at=row.asked_at,
        expires_at=row.expires_at,
        card=asked[-1].question,
        words=asked[-1].wants_text,
    )


def can_ask(console: Console) -> bool:
    """Return True if a person can see the question and type."""
    return console.stdin.isatty() and console.stderr.isatty()


async def ask_at_terminal(
    console: Console, question: OpenQuestion, find: FindQuestion
) -> TypedAnswer:
    """Ask until there is a valid answer, or the question was answered elsewhere. The card is
    already on the screen; keys typed before it are not an answer."""
    fd = console.stdin.fileno()
    termios.tcflush(fd, termios.TCIFLUSH)
    keys = {key: said for key, _, said in question.choices()}
    shown = ", ".join(f"{key} = {label.lower()}" for key, label, _ in question.choices())
    asks = "Your answer: " if question.words else f"Allow it? ({shown}) "
    while True:
        console.stderr.write(asks)
        console.stderr.flush()
        line = await _line(fd, lambda: _is_open(find, question))
        if isinstance(line, TypedAnswer):
            console.stderr.write(SETTLED if line.how == "settled" else "\n")
            console.stderr.flush()
            return line
        word = line.strip().lower()
        if said := keys.get(WORDS.get(word, word)):
            return TypedAnswer("said", said)
        if question.words and word:
            return TypedAnswer("said", line.strip())


async def _is_open(find: FindQuestion, question: OpenQuestion) -> bool:
    found = await find()
    return found is not None and found.id == question.id


async def _line(fd: int, is_open: Callable[[], Awaitable[bool]]) -> str | TypedAnswer:
    """Read one line of the terminal without blocking the event loop, so that the engine goes on."""
    loop = asyncio.get_running_loop()
    came: asyncio.Future[str | TypedAnswer] = loop.create_future()

    def give(value: str | TypedAnswer) -> None:
        if not came.done():
            came.set_result(value)

    def typed() -> None:
        raw = os.read(fd, LINE_BYTES_MAX)
        give(raw.decode("utf-8", "replace") if raw else TypedAnswer("closed"))

    loop.add_reader(fd, typed)
    loop.add_signal_handler(signal.SIGINT, give, TypedAnswer("left"))
    try:
        while True:
            done, _ = await asyncio.wait({came}, timeout=LOOK_S)
            if done:
                return came.result()
            if not await is_open():
                give(TypedAnswer("settled"))
    finally:
        loop.remove_reader(fd)
        loop.remove_signal_handler(signal.SIGINT)

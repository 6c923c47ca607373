"""The input line: what its keys do, and how a message is sent."""

from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, field

from prompt_toolkit.buffer import Buffer

from hermes.tui.calls import CallView
from hermes.tui.history import InputHistory
from hermes.tui.link import OutgoingDraft, SessionLink
from hermes.tui.pasting import Pasting
from hermes.tui.ports import WindowSettings
from hermes.tui.questions import GRACE_S
from hermes.tui.window_commands import MODES, WindowCommands

AGAIN_S = 2.0  # between the two Ctrl+C that leave
STOPPING = "Stopping the turn."
LEAVING = "Ctrl+C again leaves; Ctrl+D, too."


@dataclass(kw_only=True)
class WindowController:
    """Handle the keys of the window. `begin` starts a background task."""

    opening: WindowSettings
    environ: Mapping[str, str]
    link: SessionLink
    buffer: Buffer
    history: InputHistory
    orders: WindowCommands
    begin: Callable[[Coroutine[None, None, None]], None]
    quit: Callable[[], None]
    typing: bool = False
    hint: str = ""
    looked_at: int | None = None  # the how-manieth last call is unfolded
    open_calls: bool = False
    pasting: Pasting = field(init=False)
    _pressed_at: float = 0.0

    def __post_init__(self) -> None:
        self.pasting = Pasting(
            buffer=self.buffer, environ=self.environ, begin=self.begin, tell=self._tell
        )

    def _tell(self, hint: str) -> None:
        self.hint = hint

    def is_empty(self) -> bool:
        return not self.buffer.text

    def is_asking(self) -> bool:
        """Return True if a question is open and the keys answer it."""
        question = self.link.board.question
        free = self.is_empty() and not self.typing and self.orders.picker is None
        return bool(question and question.answers) and free

    def is_leaving(self) -> bool:
        """Return True if the first of two Ctrl+C was pressed a moment ago."""
        return self.opening.clock() - self._pressed_at < AGAIN_S

    def is_picking(self) -> bool:
        return self.orders.picker is not None

    def is_unfolded(self) -> bool:
        return self.looked_at is not None

    @property
    def unfolded(self) -> CallView | None:
        found = self.link.board.calls.finished
        if self.looked_at is None or not found:
            return None
        return found[-1 - min(self.looked_at, len(found) - 1)]

    def submit(self) -> None:
        self.hint = ""
        buffer, state = self.buffer, self.buffer.complete_state
        if self.orders.picker is not None:
            self.orders.pick(self.orders.picker.picked(buffer.text), self.orders.picker)
            self.orders.picker = None
            buffer.reset()
        elif state is not None and state.current_completion is not None:
            buffer.complete_state = None  # it stands in the line already
        elif buffer.document.current_line_before_cursor.endswith("\\"):
            buffer.delete_before_cursor()
            buffer.newline(copy_margin=False)
        elif not buffer.text.strip():
            buffer.reset()
            self.typing = False
        else:
            text, images = self.pasting.pastes.whole(buffer.text)
            self.history.append_string(text)
            buffer.reset()
            self.pasting.pastes.forget_images()
            self.orders.enter(text.strip("\n"), images)

    def newline(self) -> None:
        self.buffer.newline(copy_margin=False)

    def interrupt(self) -> None:
        """Handle Ctrl+C: stop the running turn, else clear the line, else leave when pressed
        twice."""
        now = self.opening.clock()
        if self.orders.picker is not None:
            self.step_back()
        elif self.hint != STOPPING and self.link.stop():
            self.hint = STOPPING
        elif self.buffer.text:
            self.buffer.reset()
        elif self.is_leaving():
            self.leave()
        else:
            self._pressed_at, self.hint = now, LEAVING

    def leave(self) -> None:
        self.quit()

    def answer(self, key: str) -> None:
        """Answer the question by a key. A key typed just before the question appeared goes into the
        line."""
        question = self.link.board.question
        if self.opening.clock() - self.link.board.asked_at < GRACE_S:
            self.buffer.insert_text(key)
        elif question is not None and (said := question.says(key.lower())):
            self.link.say(OutgoingDraft(text=said))
        elif question is not None and question.words:
            self.buffer.insert_text(key)

    def answers_escape(self) -> bool:
        """Return True if Escape has an effect now."""
        completing = self.buffer.complete_state is not None
        return completing or self.is_picking() or self.is_asking() or self.is_unfolded()

    def step_back(self) -> None:
        if self.buffer.complete_state is not None:
            self.buffer.cancel_completion()
        elif self.orders.picker is not None:
            self.orders.picker = None
            self.buffer.reset()
        elif self.is_asking():
            self.typing = True
        else:
            self.looked_at = None

    def cycle(self) -> None:
        at = MODES.index(self.orders.mode) + 1
        self.orders.mode = MODES[at % len(MODES)]

    def fold(self) -> None:
        """Unfold the paste at the cursor, else a call; or fold the call again."""
        if not self.is_picking() and self.pasting.unfold():
            return
        if self.link.board.calls.running:
            self.open_calls = not self.open_calls
        else:
            self.looked_at = 0 if self.looked_at is None else None

    def look_at(self, by: int) -> None:
        last = len(self.link.board.calls.finished) - 1
        self.looked_at = max(0, min((self.looked_at or 0) + by, last))

    def choose(self, by: int) -> None:
        if self.orders.picker is not None:
            self.orders.picker.move(by, self.buffer.text)

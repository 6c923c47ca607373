"""Key bindings of the window."""

from collections.abc import Callable
from typing import Protocol

from prompt_toolkit.application import Application
from prompt_toolkit.filters import Condition, is_searching
from prompt_toolkit.key_binding import (
    ConditionalKeyBindings,
    KeyBindings,
    KeyBindingsBase,
    KeyPressEvent,
    merge_key_bindings,
)
from prompt_toolkit.key_binding.bindings.search import abort_search
from prompt_toolkit.keys import Keys
from prompt_toolkit.search import accept_search

from hermes.tui.pasting import Pasting

HELP = """\
Enter           send                     Alt+Enter, Ctrl+J   a new line (or \\ at the end)
/ and @         complete commands, files Tab                 the next completion
↑ ↓             earlier lines            Ctrl+R              search them; Enter takes one
Ctrl+C          stop the turn; twice at an empty line: leave
Ctrl+D          leave                    Ctrl+Z              suspend; fg comes back
Ctrl+L          clear the screen         Esc                 leave a list, a menu, a question
Ctrl+T, Alt+M   what Enter does while a turn runs: queue, steer, interrupt
Ctrl+O          unfold the paste at the cursor, else the last call; Alt+↑ Alt+↓ other calls
Alt+V           paste a picture          y s a n             answer a question"""


# How long a lone Escape waits for what may follow it: bytes of one key come together. Where Escape
# means nothing it waits longer for a letter, as it does in Emacs.
ESCAPE_S, CHORD_S = 0.04, 1.0


class KeyActions(Protocol):
    """The actions that keys trigger."""

    def is_empty(self) -> bool: ...

    def is_asking(self) -> bool: ...

    def is_picking(self) -> bool: ...

    def answers_escape(self) -> bool: ...

    def submit(self) -> None: ...

    def newline(self) -> None: ...

    def interrupt(self) -> None: ...

    def leave(self) -> None: ...

    def answer(self, key: str) -> None: ...

    def step_back(self) -> None: ...

    def cycle(self) -> None: ...

    def fold(self) -> None: ...

    def look_at(self, by: int) -> None: ...

    def choose(self, by: int) -> None: ...

    @property
    def pasting(self) -> Pasting: ...


def hurry(app: Application[None], desk: KeyActions) -> None:
    """Make Escape act at once where it has a meaning of its own."""
    app.ttimeoutlen = ESCAPE_S

    def hurried(_keys: object) -> None:
        app.timeoutlen = ESCAPE_S if desk.answers_escape() else CHORD_S

    app.key_processor.before_key_press += hurried


def bindings(desk: KeyActions) -> KeyBindingsBase:
    """Return the key bindings. While history is searched, the search has its own."""
    keys = KeyBindings()
    asking, picking = Condition(desk.is_asking), Condition(desk.is_picking)
    table: tuple[tuple[tuple[str, ...], Callable[[], object]], ...] = (
        (("enter",), desk.submit),
        (("escape", "enter"), desk.newline),
        (("c-j",), desk.newline),
        (("c-c",), desk.interrupt),
        (("<sigint>",), desk.interrupt),
        (("c-t",), desk.cycle),
        (("escape", "m"), desk.cycle),
        (("c-o",), desk.fold),
        (("escape", "up"), lambda: desk.look_at(1)),
        (("escape", "down"), lambda: desk.look_at(-1)),
        (("escape", "v"), desk.pasting.paste_image),
    )
    for words, act in table:
        _bind(keys, words, act)
    empty = Condition(desk.is_empty)

    @keys.add("c-d", filter=empty)
    def _leave(_event: KeyPressEvent) -> None:
        desk.leave()

    @keys.add("c-l")
    def _clear(event: KeyPressEvent) -> None:
        event.app.renderer.clear()

    @keys.add(Keys.BracketedPaste)
    def _paste(event: KeyPressEvent) -> None:
        desk.pasting.paste(event.data)

    @keys.add(Keys.Any, filter=asking)
    def _answer(event: KeyPressEvent) -> None:
        desk.answer(event.data)

    @keys.add("escape", filter=Condition(desk.answers_escape))
    def _back(_event: KeyPressEvent) -> None:
        desk.step_back()

    @keys.add("c-r", filter=picking)
    @keys.add("c-s", filter=picking)
    def _no_search(_event: KeyPressEvent) -> None:
        """Ignore the key: typing already filters the list."""

    @keys.add("up", filter=picking)
    def _up(_event: KeyPressEvent) -> None:
        desk.choose(-1)

    @keys.add("down", filter=picking)
    def _down(_event: KeyPressEvent) -> None:
        desk.choose(1)

    return merge_key_bindings([ConditionalKeyBindings(keys, ~is_searching), _always()])


def _always() -> KeyBindings:
    keys = KeyBindings()
    # The other keys of a search are the usual ones: Ctrl+R goes on, Ctrl+C and Ctrl+G leave.
    keys.add("escape", filter=is_searching, eager=True)(abort_search)
    keys.add("<sigint>", filter=is_searching)(abort_search)

    @keys.add("enter", filter=is_searching)
    def _take(event: KeyPressEvent) -> None:
        """Put the found line into the input, to be edited or sent."""
        accept_search()
        line = event.app.current_buffer
        line.cursor_position = len(line.text)

    @keys.add("c-z")
    def _suspend(event: KeyPressEvent) -> None:
        event.app.suspend_to_background()

    return keys


def _bind(keys: KeyBindings, words: tuple[str, ...], act: Callable[[], object]) -> None:
    @keys.add(*words)
    def _act(_event: KeyPressEvent) -> None:
        act()

"""The window in a terminal.

Finished items go into the scrollback; the turn in progress, the input line and the status are drawn
below it and redrawn on each change.
"""

import asyncio
import sys
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence

from prompt_toolkit.application import Application
from prompt_toolkit.buffer import Buffer
from prompt_toolkit.filters import Condition
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.input.typeahead import store_typeahead
from prompt_toolkit.layout import (
    BufferControl,
    Dimension,
    Float,
    FloatContainer,
    FormattedTextControl,
    HSplit,
    Layout,
    Window,
)
from prompt_toolkit.layout.menus import CompletionsMenu
from prompt_toolkit.output import ColorDepth
from prompt_toolkit.styles import DynamicStyle

from hermes.core.ids import ReplyId
from hermes.tui import screen
from hermes.tui.board import Board
from hermes.tui.colours import Depth, depth_of
from hermes.tui.complete import InputCompleter, word_at
from hermes.tui.controller import WindowController
from hermes.tui.farewell import farewell
from hermes.tui.history import NAME as HISTORY
from hermes.tui.history import InputHistory
from hermes.tui.keys import bindings, hurry
from hermes.tui.link import SessionLink
from hermes.tui.marks import MarkProcessor
from hermes.tui.ports import Drawer, EngineConnections, WindowSettings, latest
from hermes.tui.searching import search_toolbar
from hermes.tui.skins import Skin, chosen
from hermes.tui.status import StatusLine
from hermes.tui.style import style_of
from hermes.tui.transcript_items import HermesText, TranscriptItem
from hermes.tui.typeahead import typed_ahead
from hermes.tui.window_commands import WindowCommands

TICK_S = 0.125
MENU_ROWS, INPUT_ROWS = 8, 10
_DEPTHS: Mapping[Depth, ColorDepth] = {
    1: ColorDepth.DEPTH_1_BIT,
    4: ColorDepth.DEPTH_4_BIT,
    8: ColorDepth.DEPTH_8_BIT,
    24: ColorDepth.DEPTH_24_BIT,
}


class _Quiet(Application[None]):
    """An application that stays silent when the terminal cannot report its cursor position."""

    def cpr_not_supported_callback(self) -> None:
        pass


class Face:
    """One window, showing one session at a time."""

    def __init__(
        self,
        opening: WindowSettings,
        environ: Mapping[str, str],
        connections: Callable[[], EngineConnections],
        pen: Callable[[Skin, Depth], Drawer],
    ) -> None:
        self._opening = opening
        self._environ = environ
        self._depth = depth_of(environ)
        self._skin = chosen(opening.skin, environ)
        self._style = style_of(self._skin)
        self._load_pen = pen
        self._load_connections = connections
        self._pen: Drawer | None = None
        self._loaded, self._painted = asyncio.Event(), asyncio.Event()
        self._printing = asyncio.Lock()
        self._above: ReplyId | None = None
        self._beside: set[asyncio.Task[None]] = set()
        self.link = SessionLink(
            connections=self._connections,
            board=Board(clock=opening.clock),
            show=self._show,
            choose=lambda line: latest(opening, line),
            interrupts=opening.mode == "interrupt",
        )
        history = InputHistory(opening.home / HISTORY)
        self.buffer = Buffer(
            multiline=True,
            history=history,
            completer=InputCompleter(lambda: self.link.commands, opening.cwd),
            complete_while_typing=Condition(self._completes),
        )
        self.orders = WindowCommands(
            opening=opening,
            link=self.link,
            tell=self._show,
            begin=self._begin,
            quit=self._quit,
            wear=self._wear,
            mode=opening.mode,
        )
        self.desk = WindowController(
            opening=opening,
            environ=environ,
            link=self.link,
            buffer=self.buffer,
            history=history,
            orders=self.orders,
            begin=self._begin,
            quit=self._quit,
        )
        self.app = self._application()

    async def run(self) -> None:
        """Run until the person leaves. Raise errors that end the session."""
        for text in self._opening.greeting:
            sys.stdout.write(f"{dimmed(text)}\n")
        linking = asyncio.create_task(self.link.run())
        linking.add_done_callback(self._broke)
        ticking = asyncio.create_task(self._tick())
        try:
            with self.app.input.raw_mode():
                store_typeahead(self.app.input, typed_ahead(self.app.input))
                await self.app.run_async()
            for text in farewell(self.link, self._opening):
                sys.stdout.write(f"{dimmed(text)}\n")
            sys.stdout.flush()
        finally:
            ticking.cancel()
            linking.cancel()
            await asyncio.gather(ticking, linking, *self._beside, return_exceptions=True)

    def _application(self) -> "Application[None]":
        search = search_toolbar(self.buffer)
        control = BufferControl(
            self.buffer,
            input_processors=[MarkProcessor(self.desk.pasting.pastes.label)],
            search_buffer_control=search.control,
            preview_search=True,
        )
        line = Window(
            control,
            height=self._input_height,
            wrap_lines=True,
            dont_extend_height=True,
            get_line_prefix=self._prefix,
        )
        above = Window(FormattedTextControl(self._upper), dont_extend_height=True)
        below = Window(FormattedTextControl(self._bar), height=1, style="class:bar")
        body = HSplit([above, line, search, below])
        menu = CompletionsMenu(max_height=MENU_ROWS, scroll_offset=1)
        floats = [Float(menu, xcursor=True, ycursor=True)]
        app = _Quiet(
            layout=Layout(FloatContainer(body, floats), focused_element=line),
            key_bindings=bindings(self.desk),
            style=DynamicStyle(lambda: self._style),
            color_depth=_DEPTHS[self._depth],
            erase_when_done=True,
            mouse_support=False,
            after_render=lambda _app: self._painted.set(),
        )
        hurry(app, self.desk)
        return app

    def _look(self) -> screen.Look:
        size, desk = self.app.output.get_size(), self.desk
        question = self.link.board.question
        return screen.Look(
            board=self.link.board,
            now=self._opening.clock(),
            width=max(size.columns, 20),
            height=max(size.rows - 6, 3),
            unsent=[draft.text for draft in self.link.unsent],
            typed=self.buffer.text,
            typing=desk.typing,
            above=question is not None and question.reply == self._above,
            unfolded=desk.unfolded,
            open_calls=desk.open_calls,
            picker=self.orders.picker,
            hint=desk.hint,
            draw=self._live,
        )

    def _live(self, text: str, width: int, rows: int) -> Sequence[str]:
        return self._pen.live(text, width, rows) if self._pen is not None else ()

    def _upper(self) -> StyleAndTextTuples:
        return screen.upper(self._look())

    def _bar(self) -> StyleAndTextTuples:
        board, link, opening = self.link.board, self.link, self._opening
        scene = board.scene
        status = StatusLine(
            session=scene.title or (opening.called(link.key) if link.key else opening.session),
            model=scene.model or opening.model,
            filled=scene.filled,
            window=link.window,
            cost=link.cost,
            waiting=max(scene.waiting, len(board.queue.waiting)) if board.busy else 0,
            sandbox=opening.sandbox,
            asking=scene.asking,
            mode=self.orders.mode if board.busy else "",
            link=link.kind or "connecting",
        )
        return screen.bar(status, self.app.output.get_size().columns)

    def _prefix(self, line: int, wrapped: int) -> StyleAndTextTuples:
        first = screen.prompt(
            self.link.board,
            self.orders.mode,
            picking=self.desk.is_picking(),
            asking=self.desk.is_asking(),
        )
        if line == 0 and wrapped == 0:
            return first
        return [("class:quiet", " " * sum(len(part[1]) for part in first))]

    def _input_height(self) -> Dimension:
        least = MENU_ROWS + 1 if self.buffer.complete_state is not None else 1
        return Dimension(min=least, max=max(INPUT_ROWS, least))

    def _completes(self) -> bool:
        return word_at(self.buffer.document.text_before_cursor) is not None

    async def _connections(self) -> EngineConnections:
        """Return the connections. They are loaded after the first paint, so that the window appears
        at once."""
        await self._painted.wait()
        connections = await asyncio.to_thread(self._load_connections)
        self._pen = await asyncio.to_thread(self._load_pen, self._skin, self._depth)
        self._loaded.set()
        return connections

    async def _show(self, items: Iterable[TranscriptItem]) -> None:
        batch = list(items)
        if batch:
            await self._loaded.wait()
            async with self._printing:
                # What the terminal still says of where the cursor was would be wrong behind this.
                await self.app.renderer.wait_for_cpr_responses()
                self._print(batch)
        await self._card()
        self._changed()

    async def _card(self) -> None:
        """Print a question that does not fit below into the scrollback, in full, before its
        keys."""
        question, look = self.link.board.question, self._look()
        if question is None or question.reply == self._above:
            return
        if len(screen.card_lines(question, look.width)) + screen.CARD_ROWS > look.height:
            self._above = question.reply
            await self._show([HermesText(question.text)])

    def _print(self, batch: Sequence[TranscriptItem]) -> None:
        """Print above the lower part, which is redrawn below it. The terminal mode stays, so that
        keys typed meanwhile are neither echoed nor misread."""
        assert self._pen is not None, "it is loaded"
        width = self.app.output.get_size().columns
        text = self._pen.draw(batch, width, self._opening.clock())
        if not self.app.is_running or self.app.is_done:
            sys.stdout.write(text)
            sys.stdout.flush()
            return
        renderer, output = self.app.renderer, self.app.output
        renderer.erase()
        output.write_raw(text.replace("\n", "\r\n"))
        output.flush()
        renderer.reset()
        renderer.request_absolute_cursor_position()

    def _changed(self) -> None:
        board, desk = self.link.board, self.desk
        if board.question is None:
            desk.typing = False
        waits = board.busy or self.link.stops_next
        if not waits and desk.hint and not desk.is_leaving():
            desk.hint = ""
        if not board.calls.running:
            desk.open_calls = False
        self.app.invalidate()

    def _wear(self, name: str) -> None:
        self._skin = chosen(name, self._environ)
        self._style = style_of(self._skin)
        if self._pen is not None:
            self._pen.skin = self._skin

    def _quit(self) -> None:
        if self.app.is_running and not self.app.is_done:
            self.app.exit()

    def _broke(self, linking: "asyncio.Task[None]") -> None:
        if linking.cancelled() or (error := linking.exception()) is None:
            return
        if self.app.is_running and not self.app.is_done:
            self.app.exit(exception=error)

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._beside.add(task)
        task.add_done_callback(self._beside.discard)

    async def _tick(self) -> None:
        """Redraw spinners and counters while something is in progress."""
        while True:
            await asyncio.sleep(TICK_S)
            if self.link.board.busy or self.link.unsent or self.desk.hint:
                self._changed()


def dimmed(text: str) -> str:
    return f"\x1b[2m{text}\x1b[0m"

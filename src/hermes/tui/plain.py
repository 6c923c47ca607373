"""The window as plain lines, for screen readers and terminals that cannot draw.

Nothing is redrawn or animated; each change is a line of its own.
"""

import asyncio
import os
import shutil
import signal
import sys
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import get_args

from hermes.core.ids import CallId, ReplyId, SessionKey
from hermes.tui.board import Board
from hermes.tui.calls import CallView, ending, in_full, label, why_it_failed
from hermes.tui.farewell import farewell
from hermes.tui.link import OutgoingDraft, SessionLink
from hermes.tui.ports import EngineConnection, EngineConnections, Mode, WindowSettings, latest
from hermes.tui.questions import GRACE_S
from hermes.tui.status import StatusLine, parts, text_of
from hermes.tui.transcript_items import (
    CallSummary,
    HermesText,
    NoticeLine,
    PersonText,
    Prose,
    TranscriptItem,
)
from hermes.views.cards import QUOTE, folded
from hermes.views.command_words import is_command

PROMPT = "you> "
LEAVE = ("/exit", "/quit", "exit", "quit")
LABEL_CHARS = 200
LINE_BYTES_MAX = 1_000_000
HELP = """\
Write a line and press Enter. A backslash at the end of a line continues on the next line.
/mode queue, /mode steer, /mode interrupt: what a line does while a turn runs.
/unfold: the last call in full. /where: model, tokens, cost. /help: all commands. /exit: leave.
Ctrl+C stops the turn, or leaves when none runs."""


@dataclass(kw_only=True)
class PlainWindow:
    opening: WindowSettings
    connections: Callable[[], EngineConnections]
    out: Callable[[str], None]
    mode: Mode = "queue"
    link: SessionLink = field(init=False)
    over: asyncio.Event = field(default_factory=asyncio.Event)
    _told: set[CallId] = field(default_factory=set)
    _asked: ReplyId | None = None
    _own: list[str] = field(default_factory=list)
    _was_busy: bool = False
    _held: str = ""

    def __post_init__(self) -> None:
        self.mode = self.opening.mode
        self.link = SessionLink(
            connections=self._load,
            board=Board(clock=self.opening.clock),
            show=self._show,
            choose=self._choose,
            interrupts=self.opening.mode == "interrupt",
        )

    async def run(self, lines: asyncio.StreamReader) -> None:
        for text in (*self.opening.greeting, "Plain mode. /keys tells what can be written."):
            self.out(f"{text}\n")
        self.out(PROMPT)
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, self._interrupt)
        linking = asyncio.create_task(self.link.run())
        reading = asyncio.create_task(self._read(lines))
        leaving = asyncio.create_task(self.over.wait())
        try:
            tasks = {linking, reading, leaving}
            done, _ = await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
            if linking in done:
                linking.result()
            for text in farewell(self.link, self.opening):
                self.out(f"{text}\n")
        finally:
            for task in (linking, reading, leaving):
                task.cancel()
            await asyncio.gather(linking, reading, leaving, return_exceptions=True)
            asyncio.get_running_loop().remove_signal_handler(signal.SIGINT)

    async def _read(self, lines: asyncio.StreamReader) -> None:
        while raw := await lines.readline():
            text = raw.decode("utf-8", "replace").rstrip("\r\n")
            if text.endswith("\\"):
                self._held += f"{text[:-1]}\n"
                continue
            whole, self._held = self._held + text, ""
            if whole.strip():
                self._enter(whole)
            else:
                self.out(PROMPT)

    def _enter(self, text: str) -> None:
        word, _, argument = text.strip().partition(" ")
        question = self.link.board.question
        late = self.opening.clock() - self.link.board.asked_at > GRACE_S
        if text.strip() in LEAVE:
            self.over.set()
        elif question is not None and late and (said := question.says(text.strip().lower())):
            self.link.say(OutgoingDraft(text=said))
        elif word == "/keys":
            self.out(f"{HELP}\n{PROMPT}")
        elif word == "/mode":
            self._choose_mode(argument)
        elif word == "/unfold":
            full = in_full(self.link.board.calls.finished, argument, self.opening.clock())
            self.out(f"{full}\n{PROMPT}")
        elif word == "/where":
            self.out(f"{text_of(parts(self._status()))}\n{PROMPT}")
        else:
            self._own.append(text.strip())
            self.link.say(OutgoingDraft(text=text, mode=None if is_command(text) else self.mode))

    def _choose_mode(self, name: str) -> None:
        found = next((mode for mode in get_args(Mode) if mode == name.strip()), None)
        self.mode = found or self.mode
        self.out(f"While a turn runs, a line does this: {self.mode}.\n{PROMPT}")

    def _status(self) -> StatusLine:
        scene, opening, link = self.link.board.scene, self.opening, self.link
        return StatusLine(
            session=scene.title or (opening.called(link.key) if link.key else opening.session),
            model=scene.model or opening.model,
            filled=scene.filled,
            window=link.window,
            cost=link.cost,
            waiting=scene.waiting,
            sandbox=opening.sandbox,
            asking=scene.asking,
            mode=self.mode,
            link=link.kind or "connecting",
        )

    def _interrupt(self) -> None:
        if self.link.stop():
            self.out("\nStopping the turn.\n")
        else:
            self.over.set()

    async def _load(self) -> EngineConnections:
        return await asyncio.to_thread(self.connections)

    async def _choose(self, line: EngineConnection) -> SessionKey:
        return await latest(self.opening, line)

    async def _show(self, items: Iterable[TranscriptItem]) -> None:
        said = [text for item in items for text in self._lines_of(item)]
        said += self._news()
        rests = self._was_busy and not self.link.board.busy
        self._was_busy = self.link.board.busy
        if said or rests:
            prompt = "" if self.link.board.busy else PROMPT
            self.out("".join(f"{text}\n" for text in ("", *said)) + prompt)

    def _lines_of(self, item: TranscriptItem) -> Iterator[str]:
        match item:
            case PersonText(text=text, note=note):
                if text in self._own:
                    self._own.remove(text)
                else:
                    yield f"You{f' ({note})' if note else ''}: {text}"
            case Prose(text=text):
                yield f"Hermes: {text}"
            case HermesText(text=text) | NoticeLine(text=text):
                yield text
            case CallSummary(call=call):
                outcome = call.outcome.value if call.outcome is not None else "no result"
                yield f"Call ended, {outcome}: {self._describe(call)}"

    def _news(self) -> Iterator[str]:
        board = self.link.board
        for call in board.calls.running:
            if call.id not in self._told:
                self._told.add(call.id)
                yield f"Call begins: {label(call, LABEL_CHARS)}"
        question = board.question
        if question is None:
            self._asked = None
        elif question.reply != self._asked:
            self._asked = question.reply
            keys = ", ".join(f"{key} for “{said}”" for key, said, _ in question.answers)
            lines = folded(question.text, shutil.get_terminal_size().columns)
            text = "\n".join(_quoted(line) for line in lines)
            yield f"{text}\nType {keys}." if keys else text

    def _describe(self, call: CallView) -> str:
        end = ending(call, self.opening.clock()).replace("  ", ", ")
        why = why_it_failed(call, 2 * LABEL_CHARS)
        return f"{label(call, LABEL_CHARS)}{f', {end}' if end else ''}{f': {why}' if why else ''}"


def _quoted(line: str) -> str:
    """Mark a quoted line with `>`, which screen readers know, instead of the card's bar."""
    sign = QUOTE.rstrip()
    return f">{line.removeprefix(sign)}" if line.startswith(sign) else line


async def run_plain(opening: WindowSettings, connections: Callable[[], EngineConnections]) -> None:
    loop, stream = asyncio.get_running_loop(), asyncio.StreamReader(limit=LINE_BYTES_MAX)
    fd = sys.stdin.fileno()

    def heard() -> None:
        piece = os.read(fd, 65_536)  # a terminal gives whole lines, and nothing at its end
        if piece:
            stream.feed_data(piece)
        else:
            loop.remove_reader(fd)
            stream.feed_eof()

    def out(text: str) -> None:
        sys.stdout.write(text)
        sys.stdout.flush()

    loop.add_reader(fd, heard)
    try:
        await PlainWindow(opening=opening, connections=connections, out=out).run(stream)
    finally:
        loop.remove_reader(fd)

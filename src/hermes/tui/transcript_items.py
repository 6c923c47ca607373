"""Items that stay on the screen, in the order in which they happened."""

from typing import Literal

from msgspec import Struct

from hermes.tui.calls import CallView

MARK = "\N{HEAVY RIGHT-POINTING ANGLE QUOTATION MARK ORNAMENT}"  # before what a person says

Tone = Literal["quiet", "good", "bad", "warn"]


class PersonText(Struct, frozen=True):
    """A message of a person."""

    text: str
    note: str = ""  # who else, or how it was said


class Prose(Struct, frozen=True):
    """Text of the model, in whole Markdown blocks."""

    text: str


class HermesText(Struct, frozen=True):
    """Text of Hermes itself, shown as it is."""

    text: str


class CallSummary(Struct, frozen=True):
    """A call that has ended."""

    call: CallView


class NoticeLine(Struct, frozen=True):
    """A notice of one line."""

    text: str
    tone: Tone = "quiet"


TranscriptItem = PersonText | Prose | HermesText | CallSummary | NoticeLine

"""What of a live turn goes to a client that cannot take anything back. Pure.

Text streams as it comes. The committed answer is the truth: what of it has not been sent yet is
sent when it is there, so the last text of a turn arrives completely and exactly once.
"""

from typing import Final

BREAK: Final = "\n\n"


class Flow:
    """One client's stream. Each method returns the text that it gets now.

    An attempt whose beginning was not seen (the client came late, a signal was dropped) is not
    streamed: it comes whole, once it is committed.
    """

    def __init__(self) -> None:
        self._sent: list[str] = []  # of the current step
        self._attempt: list[str] | None = None  # as far as it was seen; None: not from its start
        self._same = 0  # so many characters of it are as what was sent
        self._level = True  # the attempt is what was sent
        self._broken = False  # the next text begins a new paragraph
        self._last: str | None = None  # the last text that was committed and sent

    def attempt(self, *, seen: bool) -> None:
        """A model is asked from the start of an answer, perhaps again."""
        self._attempt, self._same = [] if seen else None, 0
        self._level = not self._sent

    def lost(self) -> None:
        """A part of the attempt was not seen."""
        self._attempt = None

    def delta(self, text: str) -> str:
        if self._attempt is None:
            return ""
        if self._level:
            self._sent.append(text)
            return self._put(text)
        self._attempt.append(text)
        self._sent = ["".join(self._sent)]
        if self._sent[0].startswith(text, self._same):
            self._same += len(text)
            return ""  # what an earlier attempt said already
        self._level = True
        attempt = "".join(self._attempt)
        more = self._remainder(attempt)
        self._sent = [attempt]
        return more

    def committed(self, text: str, *, seen: bool) -> str:
        """A step's text is durable; the next step begins, seen from its beginning or not."""
        sent = "".join(self._sent)
        trimmed = not text.startswith(sent) and text.strip() == sent.strip()
        more = "" if trimmed else self._remainder(text)
        if self._sent or more:
            self._broken = True
        self._last = text
        self._sent = []
        self.attempt(seen=seen)
        return more

    def finished(self, text: str) -> str:
        """The turn's words to the person, which its last step has usually brought already."""
        return "" if text == self._last else self._remainder(text)

    def _remainder(self, text: str) -> str:
        sent = "".join(self._sent)
        if text.startswith(sent):
            return self._put(text[len(sent) :])
        self._broken = True  # another attempt said something else; that cannot be taken back
        return self._put(text)

    def _put(self, text: str) -> str:
        if not text or not self._broken:
            return text
        self._broken = False
        return BREAK + text

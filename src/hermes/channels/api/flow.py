"""What a streaming client gets of a live turn; what was sent cannot be taken back. Pure.

Text is sent as it streams. The committed answer is authoritative: the part of it that was not sent
yet is sent at the end, so the last text of a turn arrives completely and exactly once.
"""

from typing import Final

BREAK: Final = "\n\n"


class Flow:
    """The stream of one client. Each method returns the text to send now.

    An attempt whose beginning was missed (the client connected late, a signal was dropped) is not
    streamed: it is sent whole, once it is committed.
    """

    def __init__(self) -> None:
        self._sent: list[str] = []  # of the current step
        self._attempt: list[str] | None = None  # as far as it was seen; None: not from its start
        self._same = 0  # so many characters of it are as what was sent
        self._level = True  # the attempt is what was sent
        self._broken = False  # the next text begins a new paragraph
        self._last: str | None = None  # the last text that was committed and sent

    def attempt(self, *, seen: bool) -> None:
        """Note that a model is asked for an answer from its start, perhaps again."""
        self._attempt, self._same = [] if seen else None, 0
        self._level = not self._sent

    def lost(self) -> None:
        """Note that a part of the attempt was missed."""
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
        """Note that the text of a step is durable and the next step begins."""
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
        """Return the rest of the turn's last words; its last step usually brought all of them."""
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

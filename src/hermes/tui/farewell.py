"""The words at leaving: nothing is lost, and how to come back."""

from collections.abc import Sequence

from hermes.tui.link import SessionLink
from hermes.tui.ports import WindowSettings

GOES_ON = "The turn continues in the gateway."
ASIDE = "The turn is paused: finished steps are saved, and it continues when you open the session."
ASKS = "Its question is waiting."
UNSENT = "Not sent, because the gateway could not be reached: {}"


def farewell(link: SessionLink, opening: WindowSettings) -> Sequence[str]:
    lines = [UNSENT.format(" ".join(draft.text.split())[:200]) for draft in link.unsent]
    if not link.board.busy or link.key is None:
        return lines
    if link.board.question is not None:
        lines.append(ASKS)
    else:
        lines.append(GOES_ON if link.kind == "gateway" else ASIDE)
    name = opening.called(link.key)
    words = "hermes" if name == "main" else f"hermes --session {name}"
    return [*lines, f"To open it again: {words}"]

"""What a person is told who leaves: nothing is lost, and how to come back."""

from collections.abc import Sequence

from hermes.tui.link import Link
from hermes.tui.ports import Opening

GOES_ON = "The turn goes on in the gateway."
ASIDE = "The turn is put aside: finished steps are kept, and it goes on when the session is opened."
ASKS = "Its question waits."
UNSENT = "Not sent, because nobody could be reached: {}"


def farewell(link: Link, opening: Opening) -> Sequence[str]:
    lines = [UNSENT.format(" ".join(draft.text.split())[:200]) for draft in link.unsent]
    if not link.board.busy or link.key is None:
        return lines
    if link.board.question is not None:
        lines.append(ASKS)
    else:
        lines.append(GOES_ON if link.kind == "gateway" else ASIDE)
    name = opening.called(link.key)
    words = "hermes" if name == "main" else f"hermes --session {name}"
    return [*lines, f"To look at it again: {words}"]

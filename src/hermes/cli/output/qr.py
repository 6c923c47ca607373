"""Draw a QR code as text: two rows of modules a line, black on white on every terminal."""

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from typing import TYPE_CHECKING

from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import segno
else:
    segno = LazyModule("segno")

BORDER = 2  # modules of white around it; four are asked for, and phones read it with two
BLACK_ON_WHITE, PLAIN = "\x1b[30;107m", "\x1b[0m"
_HALVES = {(0, 0): " ", (1, 0): "▀", (0, 1): "▄", (1, 1): "█"}


def qr_lines(text: str) -> Sequence[str]:
    """Return the lines of the code; none when the package that makes it is not installed."""
    if find_spec("segno") is None:
        return ()
    code = segno.make(text, error="l", micro=False)
    rows = [list(row) for row in code.matrix_iter(border=BORDER)]
    rows += [[0] * len(rows[0])] * (len(rows) % 2)
    pairs = zip(rows[::2], rows[1::2], strict=True)
    return ["".join(_HALVES[both] for both in zip(*pair, strict=True)) for pair in pairs]


def coloured(lines: Sequence[str]) -> str:
    """Return the lines in fixed colours: a phone cannot read white on black."""
    return "".join(f"{BLACK_ON_WHITE}{line}{PLAIN}\n" for line in lines)


def fits(lines: Sequence[str], columns: int, environ: Mapping[str, str]) -> bool:
    """Return True if the terminal is wide enough and shows colours and block characters."""
    return bool(lines) and len(lines[0]) <= columns and environ.get("TERM", "") != "dumb"

"""The QR code of a set-up: exactly the modules that the encoder made, two rows a line."""

import segno

from hermes.cli.output.qr import BORDER, coloured, fits, qr_lines

LINK = "https://t.me/hermes_bot"
MODULES = {" ": (0, 0), "▀": (1, 0), "▄": (0, 1), "█": (1, 1)}


def test_the_lines_hold_every_module() -> None:
    rows: list[list[int]] = []
    for line in qr_lines(LINK):
        upper, lower = zip(*(MODULES[char] for char in line), strict=True)
        rows += [list(upper), list(lower)]
    made = [
        list(row) for row in segno.make(LINK, error="l", micro=False).matrix_iter(border=BORDER)
    ]
    assert rows[: len(made)] == made
    assert all(not any(row) for row in rows[len(made) :])


def test_it_is_black_on_white_and_shown_where_it_fits() -> None:
    lines = qr_lines(LINK)
    assert coloured(lines).count("\x1b[30;107m") == len(lines)
    assert fits(lines, 80, {"TERM": "xterm"})
    assert not fits(lines, 20, {"TERM": "xterm"})
    assert not fits(lines, 80, {"TERM": "dumb"})
    assert not fits((), 80, {})

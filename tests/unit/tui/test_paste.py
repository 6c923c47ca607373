"""What is pasted into the line, and what is sent for it."""

from pathlib import Path

import pytest

from hermes.tui.paste import GONE, Pastes, clipboard_image, image_at, kind_of, named_images, path_of

PNG = b"\x89PNG\r\n\x1a\n" + bytes(32)


def test_a_short_paste_stands_there_as_it_is() -> None:
    assert Pastes().put("one\r\ntwo") == "one\ntwo"


def test_a_long_paste_is_a_mark_and_is_sent_whole() -> None:
    pastes = Pastes()
    text = "\n".join("row" for _ in range(50))
    mark = pastes.put(text)
    assert len(mark) == 1
    assert pastes.label(mark) == "[pasted 50 lines #1]"
    assert pastes.label("x") is None
    assert pastes.whole(f"look: {mark}!") == (f"look: {text}!", ())
    assert pastes.whole("[pasted 50 lines #1]") == ("[pasted 50 lines #1]", ())
    assert pastes.label(pastes.put("x" * 2_000)) == "[pasted 2,000 characters #2]"


def test_a_pasted_text_cannot_bring_a_mark_along() -> None:
    pastes = Pastes()
    mark = pastes.put("row\n" * 50)
    assert pastes.put(f"a{mark}b") == "a\N{REPLACEMENT CHARACTER}b"


def test_a_mark_that_is_forgotten_says_so_and_is_not_sent() -> None:
    pastes = Pastes()
    mark = pastes.attach((PNG, "image/png", "a.png"))
    pastes.forget_images()
    assert pastes.label(mark) == GONE
    assert pastes.whole(f"{mark}what?") == ("what?", ())


def test_the_mark_at_the_cursor_is_the_one_under_it_or_before_it() -> None:
    pastes = Pastes()
    line = f"ab{pastes.put('row' + chr(10) * 50)}cd"
    assert [pastes.at(line, cursor) for cursor in range(6)] == [None, None, 2, 2, None, None]


def test_a_picture_goes_along_unless_its_mark_is_deleted() -> None:
    pastes = Pastes()
    mark = pastes.attach((PNG, "image/png", "a[b].png"))
    assert pastes.label(mark) == "[image #1 ab.png]"
    assert pastes.whole(f"{mark} what?")[0] == "[image #1 ab.png] what?"
    assert pastes.whole(f"{mark} what?")[1] == ((PNG, "image/png", "a[b].png"),)
    assert pastes.whole("what?")[1] == ()


@pytest.mark.parametrize(
    ("pasted", "path"),
    [
        ("/a/b.png", "/a/b.png"),
        ("'/a/b c.png' ", "/a/b c.png"),
        ("/a/b\\ c.png", "/a/b c.png"),
        ("file:///a/b%20c.png", "/a/b c.png"),
        ("two words", None),
        ("/a\n/b", None),
        ("'open", None),
    ],
)
def test_a_path_is_known_however_a_terminal_writes_it(pasted: str, path: str | None) -> None:
    assert path_of(pasted) == (Path(path) if path is not None else None)


def test_only_pictures_are_pictures(tmp_path: Path) -> None:
    (tmp_path / "a.png").write_bytes(PNG)
    (tmp_path / "b.png").write_text("no picture", encoding="utf-8")
    assert image_at(tmp_path / "a.png") == (PNG, "image/png", "a.png")
    assert image_at(tmp_path / "b.png") is None
    assert image_at(tmp_path / "none.png") is None
    assert kind_of(b"RIFF0000WEBP") == "image/webp"
    found = named_images('see @a.png, @"a.png" and @b.png', tmp_path)
    assert [name for _, _, name in found] == ["a.png"]


async def test_a_program_of_the_desktop_gives_the_picture_in_the_clipboard(tmp_path: Path) -> None:
    (tmp_path / "picture").write_bytes(PNG)
    program = tmp_path / "wl-paste"
    program.write_text(f"#!/bin/sh\nexec /bin/cat {tmp_path}/picture\n", encoding="utf-8")
    program.chmod(0o755)
    found = await clipboard_image({"PATH": str(tmp_path)})
    assert found == (PNG, "image/png", "clipboard.png")
    assert await clipboard_image({"PATH": str(tmp_path / "empty")}) is None

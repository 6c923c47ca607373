"""What the channel remembers: whole or not at all, bounded, readable after a restart."""

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from hermes.channels.kit import memory
from hermes.channels.kit.memory import ChannelMemory
from hermes.channels.telegram.buttons import BYTES_MAX, Press, keyboard_of, press_of
from hermes.core.ids import session_key
from tests.unit.channels.telegram.world import reply


def names(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir()]


async def test_what_was_kept_is_there_after_a_restart(tmp_path: Path) -> None:
    assert await ChannelMemory(tmp_path).put("stickers", "../../etc/x", "a cat")
    assert await ChannelMemory(tmp_path).get("stickers", "../../etc/x") == "a cat"
    assert await ChannelMemory(tmp_path).get("buttons", "../../etc/x") == ""
    assert names(tmp_path) == ["stickers"], "a name is never a path"


async def test_a_disk_that_takes_nothing_is_no_disaster(tmp_path: Path) -> None:
    (tmp_path / "taken").write_text("a file, not a folder")
    kept = ChannelMemory(tmp_path / "taken")
    assert not await kept.put("stickers", "x", "y")
    assert await kept.get("stickers", "x") == ""


async def test_the_oldest_are_forgotten(tmp_path: Path) -> None:
    kept = ChannelMemory(tmp_path, files_max=3)
    for n in range(6):
        await kept.put("strangers", str(n), str(n))
    assert len(names(tmp_path / "strangers")) == 3
    assert await kept.get("strangers", "5") == "5"
    assert memory.FILES_MAX > 1000


@given(st.text(min_size=1, max_size=90), st.booleans())
def test_a_button_says_when_pressed_what_it_was_given(says: str, group: bool) -> None:
    lane = session_key("telegram", "group", "-5", "7") if group else session_key("x", "dm", "1")
    ((button,),) = keyboard_of(reply("?", chat=-5, session=lane, buttons=(("Label", says),)))
    assert 0 < len(button.code.encode()) <= BYTES_MAX
    press = press_of(button.code)
    assert (press.text or button.kept) == says
    assert press.is_for(lane)
    assert press.is_for(session_key("telegram", "group", "-5", "8")) is not group


def test_words_of_others_are_what_they_say() -> None:
    assert press_of("/approve call-1") == Press("", "/approve call-1")
    assert press_of("") == Press()

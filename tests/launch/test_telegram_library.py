"""hermes setup --telegram on in a clone adds the library that the platform needs."""

import sysconfig
from pathlib import Path

import pytest
from tests.doubles.shop import TOKEN, Shop

from launch.checkouts import Checkout, make_clone, pack, packages_of

WORDS = ("setup", "--yes", "--skip-model", "--telegram", "on", "--service", "none")


@pytest.fixture
def clone(tmp_path: Path) -> Checkout:
    """One whose environment has all that ours has, but Telegram's library."""
    made = make_clone(tmp_path)
    borrowed = packages_of(made) / "borrowed"
    borrowed.mkdir()
    for place in Path(sysconfig.get_path("purelib")).iterdir():
        if not place.name.startswith(("telegram", "python_telegram")) and place.suffix != ".pth":
            (borrowed / place.name).symlink_to(place)
    text = f"{Path(__file__).parents[2] / 'src'}\n{borrowed}\n"
    (packages_of(made) / "borrowed.pth").write_text(text, encoding="utf-8")
    return made


def offer_library(clone: Checkout) -> None:
    files = {"telegram/__init__.py": ""}
    made = pack(clone.machine / "wheels", "python-telegram-bot", "22.0", files)
    text = f"# telegram 1.0\npython-telegram-bot==22.0 --hash=sha256:{made}\n"
    (clone.folder / "requirements" / "telegram.txt").write_text(text, encoding="utf-8")


def test_the_library_is_added_and_the_token_is_kept(clone: Checkout) -> None:
    offer_library(clone)
    env = clone.machine / "home" / ".hermes" / ".env"
    env.parent.mkdir(mode=0o700)
    env.write_text(f"TELEGRAM_BOT_TOKEN={TOKEN}\n", encoding="utf-8")
    env.chmod(0o600)
    with Shop().open() as shop:
        base = {"HERMES_PLATFORMS__TELEGRAM__API_BASE": shop.bots}
        code, _out, err = clone.run(*WORDS, **base)
    assert code == 0, err
    assert "Telegram needs a library of its own, which is added now." in err
    assert "adding telegram to the Python environment" in err
    assert "This is @my_bot." in err
    assert (packages_of(clone) / "telegram").is_dir()
    config = (clone.machine / "home" / ".hermes" / "config.yaml").read_text(encoding="utf-8")
    assert "enabled: true" in config
    assert env.read_text(encoding="utf-8") == f"TELEGRAM_BOT_TOKEN={TOKEN}\n"


def test_a_library_that_cannot_be_added_turns_nothing_on(clone: Checkout) -> None:
    offer_library(clone)
    for wheel in (clone.machine / "wheels").iterdir():
        wheel.unlink()
    code, _out, err = clone.run(*WORDS, TELEGRAM_BOT_TOKEN=TOKEN)
    assert code == 78, err
    assert "its library could not be added" in err
    assert f"HERMES_WITH=telegram '{clone.launcher}' --version" in err
    assert not (clone.machine / "home" / ".hermes" / "config.yaml").exists()

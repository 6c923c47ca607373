"""SUP-9: `./hermes` runs no Python that another user of the machine may have put somewhere."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from launch.checkouts import Checkout, make_checkout

OTHER = 65_534
STOLEN = "#!/bin/sh\necho STOLEN\n"


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    made = make_checkout(tmp_path)
    made.lock("1.0")
    return made


def planted(checkout: Checkout, cache: Path) -> Path:
    """Plant an environment that looks complete where a cache would have it."""
    flat = str(checkout.folder).replace("/", "-")
    place = cache / "hermes" / f"env{flat}-"
    (place / "bin").mkdir(parents=True)
    (place / "bin" / "python").write_text(STOLEN)
    (place / "bin" / "python").chmod(0o755)
    (place / "hermes-stamp").write_text(f"# run 1.0\nroot {checkout.folder}\n")
    return place


@pytest.fixture
def in_tmp(checkout: Checkout) -> Iterator[Path]:
    cache = Path("/tmp/.cache")
    before = cache.exists()
    place = planted(checkout, cache)
    yield place
    shutil.rmtree(place)
    if not before:
        shutil.rmtree(cache)


def said(checkout: Checkout, **environ: str) -> str:
    done = subprocess.run(
        [checkout.launcher, "-V"],
        env={**checkout.environment(), **environ},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    return done.stdout + done.stderr


@pytest.mark.parametrize("home", ["", "relative", "."], ids=repr)
def test_sup_09_without_a_home_nothing_in_tmp_is_run(
    checkout: Checkout, in_tmp: Path, home: str
) -> None:
    assert (in_tmp / "bin" / "python").exists()
    assert "STOLEN" not in said(checkout, HOME=home, PATH="/nonexistent")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can plant something as another user")
@pytest.mark.parametrize("whose", ["", "bin", "hermes-stamp", ".."], ids=repr)
def test_sup_09_what_belongs_to_another_user_is_not_run(checkout: Checkout, whose: str) -> None:
    place = planted(checkout, checkout.machine / "home" / ".cache")
    assert "STOLEN" in said(checkout, PATH="/nonexistent")
    os.chown(place / whose, OTHER, OTHER)
    assert "STOLEN" not in said(checkout, PATH="/nonexistent")


def test_sup_09_a_checkout_that_cannot_be_written_to_says_what_it_needs(
    checkout: Checkout,
) -> None:
    (checkout.folder / ".venv").mkdir()  # of somebody else: there is no stamp in it
    text = said(checkout, HOME="")
    assert "HOME is not set" in text
    assert "Traceback" not in text

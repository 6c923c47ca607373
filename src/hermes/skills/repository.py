"""Fetch a git repository as an archive: bare and shallow, no hooks, filters or submodules.

No file of it is ever checked out: git packs the tree into a tar, which is read like any other.
"""

import os
import re
import signal
import subprocess
import time
from collections.abc import Mapping, Sequence
from pathlib import Path

from hermes.core.errors import Rejected
from hermes.skills.remote import Remote
from hermes.skills.unpack import UNPACKED_BYTES_MAX

CLONE_S = 120.0
LOOK_S = 0.1
CLONE_BYTES_MAX = 100_000_000
ERROR_BYTES_MAX = 4_000
PROTOCOLS = "https:ssh:file"
KEPT = ("PATH", "HOME", "LANG", "SSH_AUTH_SOCK", "TMPDIR")
REF = re.compile(r"[A-Za-z0-9][\w./-]{0,200}")
NEUTRAL = (
    "core.hooksPath=/dev/null",
    "core.fsmonitor=false",
    "core.symlinks=false",
    "core.attributesFile=/dev/null",
    "credential.helper=",
    "protocol.ext.allow=never",
    "submodule.recurse=false",
    "transfer.fsckObjects=true",
    "uploadpack.packObjectsHook=",
)


def archived(origin: str, *, environ: Mapping[str, str], scratch: Path, remote: Remote) -> bytes:
    """Return the tree as a tar. `origin` is an address, optionally with #BRANCH. Raise Rejected."""
    address, _, ref = origin.removeprefix("git+").partition("#")
    if ref and not REF.fullmatch(ref):
        raise Rejected(f"“{ref[:80]}” is not a valid name of a branch or a tag")
    if address.startswith("-") or any(not c.isprintable() or c.isspace() for c in address):
        raise Rejected("this is not a git address")
    kept: Sequence[str] = ()
    if address.startswith("https://"):
        address, kept = remote.repository(address)
    clone = scratch / "clone"
    branch = ["--branch", ref] if ref else []
    _git(
        [
            "clone",
            "--bare",
            "--quiet",
            "--depth=1",
            "--single-branch",
            "--no-tags",
            "--no-recurse-submodules",
            "--template=",
            *branch,
            "--",
            address,
            str(clone),
        ],
        environ=environ,
        watched=clone,
        kept=kept,
    )
    command = ["--git-dir", str(clone), "archive", "--format=tar", "HEAD"]
    return _git(command, environ=environ, watched=clone)


def _git(
    words: Sequence[str], *, environ: Mapping[str, str], watched: Path, kept: Sequence[str] = ()
) -> bytes:
    settings = [word for setting in (*NEUTRAL, *kept) for word in ("-c", setting)]
    out, err = watched.with_suffix(".out"), watched.with_suffix(".err")
    with out.open("wb") as stdout, err.open("wb") as stderr:
        try:
            process = subprocess.Popen(
                ["git", *settings, *words],  # noqa: S607
                stdin=subprocess.DEVNULL,
                stdout=stdout,
                stderr=stderr,
                env=_environment(environ),
                cwd=watched.parent,
                start_new_session=True,
            )
        except OSError as missing:
            raise Rejected("git is not installed here; download an archive instead") from missing
        try:
            _wait(process, watched, out)
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
    if process.returncode:
        raise Rejected(f"git could not fetch it: {_last_words(err)}")
    return out.read_bytes()


def _wait(process: "subprocess.Popen[bytes]", watched: Path, out: Path) -> None:
    """Wait until git ends. Raise Rejected when it exceeds the time or size limit."""
    until = time.monotonic() + CLONE_S
    while True:
        try:
            process.wait(LOOK_S)
        except subprocess.TimeoutExpired:
            ended = False
        else:
            ended = True
        if out.stat().st_size > UNPACKED_BYTES_MAX:
            raise Rejected(f"the repository has more than {UNPACKED_BYTES_MAX:,} bytes of files")
        if _size(watched) > CLONE_BYTES_MAX:
            raise Rejected(f"the repository has more than {CLONE_BYTES_MAX:,} bytes")
        if ended:
            return
        if time.monotonic() > until:
            raise Rejected(f"git took longer than {CLONE_S:.0f} seconds")


def _size(folder: Path) -> int:
    total = 0
    for place, _folders, files in os.walk(folder):
        for name in files:
            try:
                total += os.lstat(os.path.join(place, name)).st_size  # noqa: PTH118
            except OSError:
                continue
    return total


def _environment(environ: Mapping[str, str]) -> dict[str, str]:
    kept = {name: environ[name] for name in KEPT if name in environ}
    return {
        **kept,
        "GIT_CONFIG_NOSYSTEM": "1",
        "GIT_CONFIG_GLOBAL": "/dev/null",
        "GIT_ATTR_NOSYSTEM": "1",
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_ALLOW_PROTOCOL": PROTOCOLS,
        "GIT_LFS_SKIP_SMUDGE": "1",
        "GIT_SSH_COMMAND": "ssh -o BatchMode=yes",
        "GIT_OPTIONAL_LOCKS": "0",
    }


def _last_words(file: Path) -> str:
    """Return the end of git's error output, without passwords from the address."""
    with file.open("rb") as stream:
        text = stream.read(ERROR_BYTES_MAX).decode("utf-8", "replace")
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    said = lines[-1] if lines else "it did not say why"
    return re.sub(r"(?<=://)[^/@\s]*@", "", said)[:300]

"""Build the file system of our own box: a new root with only the visible files.

Mount trees are detached from the old root first and attached to the new one later, because an
attached tree may cover one that is still needed. Use only the standard library: see enter.py.
"""

import os
from pathlib import Path

from hermes.terminals.sandbox import kernel
from hermes.terminals.sandbox.idmap import prepared_idmap

STAGE = "/tmp"  # noqa: S108 - the new root begins here, in a mount namespace of the box
OLD = "/.old"
SAFE = kernel.NOSUID | kernel.NODEV
ATTRIBUTES = {
    "ro": SAFE | kernel.READ_ONLY,
    "rw": SAFE,
}
FIXED = kernel.NOSUID | kernel.NOEXEC | kernel.READ_ONLY
OWN = "own-"  # prefix of a kind: shown as files of the box's user
PUBLIC = 0o755


class Trees:
    """Mount trees that are detached before something covers them, and attached afterwards."""

    def __init__(self) -> None:
        self._taken: list[int] = []

    def take(self, kind: str, path: str) -> None:
        tree = kernel.taken_tree(path)
        self._taken.append(tree)
        attributes = ATTRIBUTES[kind.removeprefix(OWN)]
        if not kind.startswith(OWN):
            kernel.set_attributes(tree, attributes)
            return
        users = prepared_idmap()
        try:
            kernel.set_attributes(tree, attributes, users=users)
        except OSError:  # another file system is mounted below, which cannot be mapped
            kernel.set_attributes(tree, attributes)
            self._map_top(tree, attributes, users)

    def _map_top(self, tree: int, attributes: int, users: int) -> None:
        try:
            kernel.set_attributes(tree, attributes, deep=False, users=users)
        except OSError:
            if not attributes & kernel.READ_ONLY:  # for reading, file modes may be enough
                raise

    def put(self, kind: str, path: str) -> None:
        if kind == "folder":
            make_folder(path)
        else:
            make_file(path)
        tree = self._taken.pop(0)
        kernel.put_tree(tree, path)
        os.close(tree)


def begin_root(size: str) -> None:
    """Replace the root by an empty one; the old root stays reachable until `leave_old_root`."""
    mount_tmpfs(STAGE, f"mode=0755,size={size}")
    Path(f"{STAGE}{OLD}").mkdir()
    kernel.pivot_root(STAGE, f"{STAGE}{OLD}")
    os.chdir("/")


def leave_old_root() -> None:
    kernel.detach(OLD)
    Path(OLD).rmdir()
    kernel.freeze("/")


def mount_tmpfs(path: str, options: str) -> None:
    make_folder(path)
    kernel.mount("tmpfs", path, "tmpfs", SAFE, options)


def mount_proc() -> None:
    kernel.mount("proc", "/proc", "proc", SAFE | kernel.NOEXEC | kernel.READ_ONLY)


def mount_terminals(path: str) -> None:
    """Mount private pseudo-terminals, separate from the machine's."""
    make_folder(path)
    flags = kernel.NOSUID | kernel.NOEXEC
    kernel.mount("devpts", path, "devpts", flags, "newinstance,ptmxmode=0666,mode=620")


def mount_devices(folder: str, names: str) -> None:
    """Bind these devices of the machine; their modes and times cannot be changed."""
    make_folder(folder)
    kernel.mount(folder, folder, "", kernel.BIND)
    for name in names.split():
        make_file(f"{folder}/{name}")
        kernel.mount(f"{OLD}{folder}/{name}", f"{folder}/{name}", "", kernel.BIND)
    kernel.freeze(folder, kernel.RECURSIVE, FIXED)


def make_folder(path: str) -> None:
    """Create a folder and its parents, accessible to another user."""
    place = Path(path)
    try:
        place.mkdir()
    except FileExistsError:
        return
    except FileNotFoundError:
        make_folder(str(place.parent))
        place.mkdir()
    place.chmod(PUBLIC)


def make_file(path: str, content: bytes = b"") -> None:
    """Create a file and its parents. An existing file stays as it is."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC
    try:
        made = os.open(path, flags, 0o644)
    except FileNotFoundError:
        make_folder(str(Path(path).parent))
        made = os.open(path, flags, 0o644)
    if content:
        os.write(made, content)
        os.fchmod(made, 0o644)
    os.close(made)


def make_link(target: str, path: str) -> None:
    try:
        Path(path).symlink_to(target)
    except FileNotFoundError:
        make_folder(str(Path(path).parent))
        Path(path).symlink_to(target)


def replace_file(path: str, content: str) -> None:
    """Cover this file with another one."""
    other = f"/.{Path(path).name}"
    make_file(other, bytes.fromhex(content))
    kernel.mount(other, path, "", kernel.BIND)
    kernel.freeze(path)


def give(path: str, user: str, group: str) -> None:
    os.chown(path, int(user), int(group))


def pin(path: str) -> None:
    kernel.mount(path, path, "", kernel.BIND | kernel.REC)


def lock(path: str) -> None:
    pin(path)
    kernel.freeze(path, kernel.RECURSIVE)


def hide(path: str) -> None:
    if Path(path).is_dir():
        kernel.mount("tmpfs", path, "tmpfs", SAFE | kernel.READ_ONLY, "mode=0555,size=4k")
    else:
        kernel.mount("/dev/null", path, "", kernel.BIND)


def mask(path: str) -> None:
    """Hide the path, if this kernel has it."""
    if Path(path).exists():
        hide(path)

"""Tell in which part of the machine a path is, by its letters only.

Links are the sandbox's business, and so is everything that this gets wrong.
"""

import posixpath
import re
from collections.abc import Sequence
from enum import Enum

from msgspec import Struct

from hermes.core.grants import is_beneath
from hermes.views.obeyed_files import has_trap

PATH_CHARS_MAX = 4_096
CWDS_MAX = 4


class Zone(Enum):
    WORK = "work"  # the workspace and temporary files: read and written
    SYSTEM = "system"  # programs and what everybody may know of the machine: read
    ELSEWHERE = "elsewhere"  # other people's business: a question
    SECRET = "secret"  # noqa: S105  keys, credentials, other processes: never


class CommandPlace(Struct, frozen=True, kw_only=True):
    """Where a command would run. Absolute, normalised paths."""

    root: str  # the workspace
    cwd: str
    home: str
    guarded: tuple[str, ...] = ()  # our own: settings, secrets, database, pairing
    scratch: str = ""  # what it sees as /tmp and finds again at the next command, on the disk


TEMPORARY = ("/tmp", "/var/tmp")  # noqa: S108
SYSTEM = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/opt")
SYSTEM_FILES = frozenset(
    {
        *("/etc/os-release", "/etc/hostname", "/etc/hosts", "/etc/timezone", "/etc/localtime"),
        *("/etc/debian_version", "/etc/lsb-release", "/etc/alpine-release", "/etc/issue"),
        *("/etc/services", "/etc/protocols", "/etc/shells", "/etc/mime.types"),
        *("/proc/cpuinfo", "/proc/meminfo", "/proc/version", "/proc/loadavg", "/proc/uptime"),
        *("/proc/filesystems", "/proc/stat", "/proc/swaps", "/proc/partitions"),
        *("/dev/null", "/dev/stdin", "/dev/stdout", "/dev/stderr", "/dev/fd/63"),
    }
)
# Directories whose names, but not contents, anybody may see.
LISTED = frozenset({"/", "/etc", "/var", "/var/log", "/mnt", "/media", "/srv"})

SECRET_NAMES = frozenset(
    {
        *(".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".netrc", "_netrc", ".pgpass"),
        *(".git-credentials", ".npmrc", ".pypirc", ".password-store", ".hermes", ".openclaw"),
        *(".vault-token", ".boto", ".s3cfg", ".my.cnf", "gcloud", "keyrings", ".mozilla", ".gem"),
        *("id_rsa", "id_dsa", "id_ecdsa", "id_ed25519", "authorized_keys", "docker.sock"),
        *(".terraform.d", ".cargo-credentials", ".config.gh", "login.keychain-db"),
        ".hermes-durable",
    }
)
SECRET_PREFIXES = (
    *("/proc", "/dev", "/sys/kernel", "/etc/shadow", "/etc/gshadow", "/etc/sudoers", "/etc/ssh"),
    *("/etc/ssl/private", "/etc/sudoers.d", "/root", "/boot", "/var/lib/docker", "/var/run"),
)
PRIVATE_FILE = re.compile(r"\.env(?:\..+)?|.*\.(?:pem|key|p12|pfx|kdbx|keystore|jks)")
EXAMPLE_FILE = re.compile(r"\.env\.(?:example|sample|template|dist)")
# Files of a skill that counts, within our own: a box shows them, so a command may name them.
SKILL_FILE = re.compile(r"/skills/(?:\.store/[0-9a-f]{64}/)?[a-z0-9][a-z0-9-]*(?:/.+)?", re.ASCII)
_SECRETS_FOLDED = frozenset(name.casefold() for name in SECRET_NAMES)


def zone_of(path: str, place: CommandPlace, cwd: str) -> Zone:
    """Of a literal path, as a program would open it from `cwd`."""
    if len(path) > PATH_CHARS_MAX:
        return Zone.ELSEWHERE
    full = absolute(path, cwd)
    if is_skill(full, place):
        return Zone.ELSEWHERE
    if names_secret(_inner(full, place)):
        return Zone.SECRET
    nearest = max(
        (root for root in (place.root, place.home, *place.guarded) if is_beneath(full, root)),
        key=len,
        default="",
    )
    if nearest == place.root and not _is_dotted_home(full, place):
        return Zone.ELSEWHERE if _is_private(full) else Zone.WORK
    if nearest in place.guarded:
        return Zone.SECRET
    if nearest in (place.home, place.root) and nearest:
        return Zone.ELSEWHERE
    named = path.startswith("/") and ".." not in path.split("/")
    if named and any(is_beneath(full, root) for root in TEMPORARY):
        return Zone.ELSEWHERE if _is_private(full) else Zone.WORK
    if full in SYSTEM_FILES or any(is_beneath(full, root) for root in SYSTEM):
        return Zone.SYSTEM
    if any(is_beneath(full, root) for root in SECRET_PREFIXES):
        return Zone.SECRET
    return Zone.ELSEWHERE


def absolute(path: str, cwd: str) -> str:
    full = posixpath.normpath(posixpath.join(cwd, path))
    return "/" + full.lstrip("/")  # normpath keeps two slashes


def names_secret(path: str) -> bool:
    """One of its components is the name of something secret, wherever it is."""
    return any(part.casefold() in _SECRETS_FOLDED for part in re.split(r"[/\x00]", path))


def is_skill(full: str, place: CommandPlace) -> bool:
    """Of an absolute, normalised path."""
    for guarded in place.guarded:
        inner = full.removeprefix(guarded) if is_beneath(full, guarded) else ""
        if SKILL_FILE.fullmatch(inner) and not names_secret(inner):
            return True
    return False


def is_trap(path: str, place: CommandPlace, cwd: str) -> bool:
    """Writing there makes something run later."""
    full = absolute(path, cwd)
    if place.root == place.home and is_beneath(full, place.root) and path.startswith("/"):
        return True  # a home is no workspace for what is named from the top
    return has_trap(_inner(full, place))


def _inner(full: str, place: CommandPlace) -> str:
    """The workspace may itself lie in a place with a secret's name."""
    return full[len(place.root) :] if is_beneath(full, place.root) else full


def _is_private(full: str) -> bool:
    name = posixpath.basename(full)
    return PRIVATE_FILE.fullmatch(name) is not None and EXAMPLE_FILE.fullmatch(name) is None


def is_private_name(name: str) -> bool:
    """Of a file or folder in a workspace: its content is not for a command that only looks."""
    return _is_private(name) or name.casefold() in _SECRETS_FOLDED


def may_be_private(pattern: str) -> bool:
    """A name or pattern that spells the end of a private file's name."""
    name = posixpath.basename(pattern)
    bare = re.sub(r"[*?]+", "x", name) if not name.startswith(".env") else ".env"
    return _is_private(bare) and EXAMPLE_FILE.fullmatch(name) is None


def is_temporary(path: str, place: CommandPlace) -> bool:
    full = posixpath.normpath(path)
    return any(is_beneath(full, root) for root in TEMPORARY) and not is_beneath(full, place.root)


def _is_dotted_home(full: str, place: CommandPlace) -> bool:
    """A hidden file of a home directory that is the workspace besides."""
    return place.root == place.home and full[len(place.root) :].startswith("/.")


def worst_zone(path: str, place: CommandPlace, cwds: Sequence[str]) -> Zone:
    """Of all places where one may be; nobody knows when there are none."""
    if not cwds:
        return zone_of(path, place, "/") if path.startswith("/") else Zone.ELSEWHERE
    order = list(Zone)
    return max((zone_of(path, place, cwd) for cwd in cwds), key=order.index)


def moved(path: str, cwds: Sequence[str]) -> list[str]:
    """Where one may be after a `cd` that may have failed; empty: anywhere."""
    found = dict.fromkeys([*cwds, *(absolute(path, cwd) for cwd in cwds)])
    return list(found) if len(found) <= CWDS_MAX else []

"""Take out of a repository that a command has made what would run programs for its owner.

The sandbox guards repositories that exist when a command begins. One that is made meanwhile can
bring any setting, and even `git status` of the repository around it would obey those.
"""

import contextlib
import posixpath
import re
from typing import Final

from msgspec.structs import replace

from hermes.core.errors import ToolFailed
from hermes.core.grants import is_beneath
from hermes.ports.workspace import FileAccess, Files

CONFIG_BYTES_MAX: Final = 100_000
ASIDE: Final = ".untrusted"
ASIDES_MAX: Final = 100
HOOKS_MAX: Final = 1_000
PLAIN: Final = "[core]\n\trepositoryformatversion = 0\n"
# Settings that name no program and no other file. Everything else is set aside.
HARMLESS: Final = re.compile(
    r"core\.(?:repositoryformatversion|filemode|bare|logallrefupdates|symlinks|ignorecase"
    r"|precomposeunicode|autocrlf|eol|safecrlf|sparsecheckout|sparsecheckoutcone|longpaths)"
    r"|extensions\.(?:objectformat|refstorage|partialclone|compatobjectformat)"
    r"|user\.(?:name|email)|init\.defaultbranch|pull\.(?:rebase|ff)|push\.default|fetch\.prune"
    r"|remote\.(?:url|pushurl|fetch|tagopt|promisor|partialclonefilter|prune|pushdefault)"
    r"|branch\.(?:remote|merge|rebase|description|pushremote)|submodule\.(?:url|active|branch)"
    r"|gc\.auto|advice\..*|color\..*|merge\.ff|rebase\.autostash|commit\.gpgsign|tag\.gpgsign"
)
_SECTION = re.compile(r'\[\s*([a-z0-9.-]+)(?:\s+"(?:[^"\\\n]|\\.)*")?\s*\]', re.IGNORECASE)
_SETTING = re.compile(r"([a-z][a-z0-9-]*)\s*(?:=\s*(.*))?", re.IGNORECASE)


def disarm(files: Files, setting: str) -> bool:
    """Of what a command has put into a repository: its config, its hooks, where it leads. True when
    it was set aside. What cannot be changed by us is left alone."""
    with contextlib.suppress(OSError, ToolFailed):
        status = files.status(setting)
        if status is not None and status.kind == "link":
            return _set_aside(files, setting)
        match posixpath.basename(setting):
            case "config":
                return _disarm_config(files, setting)
            case "config.worktree":
                text = _text(files, setting)
                return bool(_settings(text)) and _set_aside(files, setting)
            case "commondir":
                return not _leads_home(files, setting) and _set_aside(files, setting)
            case "hooks":
                return _has_hook(files, setting) and _set_aside(files, setting)
    return False


def _has_hook(files: Files, folder: str) -> bool:
    """One that may be run. What is too much to look at counts as one."""
    entries = files.list(folder, limit=HOOKS_MAX)
    names = [each.name for each in entries if not each.name.endswith(".sample")]
    found = [files.status(f"{folder}/{name}", follow=True) for name in names]
    return len(entries) == HOOKS_MAX or any(each and each.mode & 0o111 for each in found)


def harmless_part(text: str, repository: str = "/") -> str:
    """Of a git configuration, what can run nothing. What is not understood is left out."""
    kept: list[str] = []
    section = ""
    if "\\\n" in text or "\0" in text:
        return PLAIN
    for line in text.splitlines():
        bare = line.strip()
        header, setting = _SECTION.fullmatch(bare), _SETTING.fullmatch(bare)
        if header is not None:
            section = header[1].lower()
            kept.append(bare)
        elif setting is not None:
            name = f"{section}.{setting[1].lower()}"
            if _is_harmless(name, setting[2] or "", repository):
                kept.append(f"\t{bare}")
        elif bare and not bare.startswith(("#", ";")):
            return PLAIN
    return "\n".join([*kept, ""])


def _is_harmless(name: str, value: str, repository: str) -> bool:
    """A submodule names its work tree, which is in the project around it."""
    if name == "core.worktree":
        project = repository.partition("/.git/")[0]
        return is_beneath(posixpath.normpath(posixpath.join(repository, value)), project)
    program = value.startswith("!") or "::" in value  # of an alias, of a remote helper
    return HARMLESS.fullmatch(name) is not None and not program


def _disarm_config(files: Files, config: str) -> bool:
    text, folder = _text(files, config), posixpath.dirname(config)
    harmless = PLAIN if len(text) > CONFIG_BYTES_MAX else harmless_part(text, folder)
    if _settings(harmless) == _settings(text):
        return False
    like = files.status(config)
    _set_aside(files, config)
    bits = replace(like, mode=like.mode & 0o777) if like is not None else None
    access = FileAccess(beneath=folder, permit=lambda _real: None)
    files.replace(config, harmless.encode(), access, tag="config", like=bits)
    return True


def _text(files: Files, path: str) -> str:
    return files.head(path, CONFIG_BYTES_MAX + 1)[1].decode("utf-8", "replace")


def _settings(text: str) -> list[str]:
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith(("#", ";"))]


def _leads_home(files: Files, commondir: str) -> bool:
    """To the repository itself, or from a linked work tree to its own repository."""
    return files.head(commondir, 100)[1].strip() in (b".", b"../..")


def _set_aside(files: Files, path: str) -> bool:
    name = posixpath.basename(path)
    return any(files.rename(path, f"{name}{ASIDE}{n or ''}") for n in range(ASIDES_MAX))

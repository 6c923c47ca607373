"""The system prompt of each conversation, from the home, the settings and its folder.

Part of the composition root.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from hermes.agent.offer import model_of
from hermes.agent.prompt import SUBAGENT, SUBAGENTS, Prompt, Sources, compose, parts_of
from hermes.app.workspaces import files_of
from hermes.context.files import (
    NAMES,
    ContextFiles,
    UnknownFiles,
    context_files,
    trusted_folders,
    unknown_files,
)
from hermes.context.personalities import checked_default, chosen, personalities
from hermes.context.place import place, this_machine
from hermes.core.ids import platform_of
from hermes.core.ports import PromptPart
from hermes.core.session import Session
from hermes.ports.workspace import Workspace
from hermes.settings import Settings
from hermes.views.folder_trust import FILE as TRUSTED
from hermes.views.folder_trust import FolderTrust, answers_in

SOUL = "SOUL.md"
SOUL_CHARS_MAX = 20_000
MEMORIES = ("memories/MEMORY.md", "memories/USER.md", "memories/PERSON.md")
EDITED = (SOUL, *MEMORIES, "skills", "skills/lock.json", TRUSTED)
JUST_NOW_S = 0.2
LATEST_MAX = 64

Stand = tuple[tuple[int, int], ...]


class PromptSetting(Struct, frozen=True, kw_only=True):
    """What differs between two conversations of one process."""

    platform: str
    workdir: str
    personality: str = ""  # a name; "": the default
    instructions: str = ""
    owners: bool = True  # nobody but the owner reads along
    child: str = ""  # the role of a subagent; "" in every other session
    small: bool = False  # for a small model


class Latest(Struct, frozen=True):
    """A composed prompt, with the state of the files it was made from."""

    at: float
    stand: Stand
    prompt: Prompt


class Prompts:
    """Files are read when a conversation begins, so the next one sees changes."""

    def __init__(
        self,
        *,
        home: Path,
        workspace: Workspace,
        settings: Settings,
        hints: Mapping[str, str],
        given: Callable[[bool], tuple[PromptPart, ...]],
        clock: Callable[[], float],
        is_small: Callable[[str], bool] = lambda _model: False,
    ) -> None:
        """`hints` are by platform; `given` are skills and, for the owner alone, memory; `is_small`
        tells by its name whether a model gets the small profile. Raises Misconfigured."""
        self.personalities = personalities(settings.agent.personalities)
        self.default = checked_default(settings.agent.personality, self.personalities)
        self._disk, self._places = workspace.files, workspace.places
        user_home = Path(workspace.places.home)
        self._trusted = trusted_folders(self._disk, settings.agent.trusted_dirs, user_home)
        self._home = home
        self._user_home = user_home
        self._hints = hints
        self._given = given
        self._clock = clock
        self._is_small = is_small
        self._latest: dict[PromptSetting, Latest] = {}

    async def prompt(self, session: Session, owners: bool) -> Prompt:
        """For the conversation that begins there now; `owners`: nobody else reads along. Many may
        begin at once: what was read just now, and has not changed, is not read again."""
        setting, stand = await asyncio.to_thread(self._seen, session, owners)
        now, latest = time.monotonic(), self._latest.get(setting)
        if latest is not None and latest.stand == stand and now - latest.at < JUST_NOW_S:
            return latest.prompt
        parts, labels, sources = await asyncio.to_thread(self.parts, setting)
        prompt = Prompt(compose(parts), labels, sources)
        if len(self._latest) >= LATEST_MAX:
            self._latest.clear()
        self._latest[setting] = Latest(now, stand, prompt)
        return prompt

    def _seen(self, session: Session, owners: bool) -> tuple[PromptSetting, Stand]:
        turn = session.turn
        setting = PromptSetting(
            platform=turn.address.platform if turn is not None else platform_of(session.key),
            workdir=self._where(session),
            personality=session.facts.personality,
            instructions=session.facts.instructions,
            owners=owners,
            child=turn.options.role if turn is not None else "",
            small=self._is_small(model_of(session)),
        )
        return setting, self._stand(setting)

    def _where(self, session: Session) -> str:
        """Return the folder in which its commands run; a folder that is gone counts as none."""
        known = (session.facts.workdir, session.facts.came_from)
        return next((path for path in known if path and self._is_folder(path)), self._places.root)

    def _stand(self, setting: PromptSetting) -> Stand:
        """Return which version of the files that people edit is there."""
        own = [_version(self._home / name) for name in EDITED]
        seen = [self._disk.status(f"{setting.workdir}/{name}", follow=True) for name in NAMES]
        return (*own, *((each.modified_ns, each.size) if each else (0, 0) for each in seen))

    def _is_folder(self, path: str) -> bool:
        status = self._disk.status(path, follow=True)
        return status is not None and status.kind == "folder"

    def parts(
        self, setting: PromptSetting
    ) -> tuple[tuple[PromptPart, ...], tuple[str, ...], tuple[str, ...]]:
        """And what a policy should know of them: labels, and the files that brought them."""
        folder = Path(setting.workdir)
        trust = FolderTrust(folders=self._trusted, answers=answers_in(self._home))
        files = (
            ContextFiles()
            if setting.small
            else context_files(self._disk, folder, home=self._user_home, trust=trust)
        )
        here = place(self._clock(), setting.workdir, this_machine())
        if setting.child:  # nothing of the person's: only its task, its tools and its folder
            sources = Sources(
                soul=SUBAGENTS.get(setting.child, SUBAGENT),
                context=files.text,
                conversation=here.text,
                instructions=setting.instructions,
            )
            labels = tuple(sorted({*files.labels, *here.labels}))
            return parts_of(sources), labels, files.sources
        sources = Sources(
            soul=_soul(self._home / SOUL),
            personality=chosen(setting.personality, self.default, self.personalities),
            given=self._given(setting.owners),
            context=files.text,
            hints=self._hints.get(setting.platform, ""),
            conversation=here.text,
            instructions=setting.instructions,
            small=setting.small,
        )
        labels = tuple(sorted({*files.labels, *here.labels}))
        return parts_of(sources), labels, files.sources


def folder_to_trust(home: Path, settings: Settings, workdir: Path) -> UnknownFiles | None:
    """Return the instruction files there about which the owner was not asked yet. Raise
    Misconfigured."""
    disk = files_of(settings)
    folders = trusted_folders(disk, settings.agent.trusted_dirs, Path.home())
    trust = FolderTrust(folders=folders, answers=answers_in(home))
    return unknown_files(disk, workdir, home=Path.home(), trust=trust)


def _version(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def _soul(file: Path) -> str:
    """Read SOUL.md. An unreadable one counts as missing: the agent works all the same."""
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            return text.read(SOUL_CHARS_MAX)
    except OSError:
        return ""

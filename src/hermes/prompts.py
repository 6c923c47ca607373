"""What each conversation is told first, from the home, the settings and the folder that it is in.

Part of the composition root.
"""

import asyncio
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from msgspec import Struct

from hermes.agent.prompt import Prompt, Sources, compose, parts_of
from hermes.context.files import NAMES, context_files, trusted_folders
from hermes.context.personalities import checked_default, chosen, personalities
from hermes.context.place import place, this_machine
from hermes.core.ports import PromptPart
from hermes.core.session import Session
from hermes.settings import Settings

SOUL = "SOUL.md"
SOUL_CHARS_MAX = 20_000
MEMORIES = ("memories/MEMORY.md", "memories/USER.md", "memories/PERSON.md")
EDITED = (SOUL, *MEMORIES, "skills", "skills/lock.json")
JUST_NOW_S = 0.2
LATEST_MAX = 64

Stand = tuple[tuple[int, int], ...]


class Setting(Struct, frozen=True, kw_only=True):
    """What differs between two conversations of one process."""

    platform: str
    workdir: str
    personality: str = ""  # a name; "": the default
    instructions: str = ""
    owners: bool = True  # nobody but the owner reads along


class Latest(Struct, frozen=True):
    """A prompt as it was composed just now, of the files as they stood."""

    at: float
    stand: Stand
    prompt: Prompt


class Prompts:
    """Everything is read when a conversation begins, so that the next one sees what has changed."""

    def __init__(
        self,
        *,
        home: Path,
        user_home: Path,
        settings: Settings,
        workdir: str,
        hints: Mapping[str, str],
        given: Callable[[bool], tuple[PromptPart, ...]],
        clock: Callable[[], float],
    ) -> None:
        """`hints` are by platform; `given` are skills and, for the owner alone, memory; `workdir`
        is where a session is that has not gone elsewhere. Raises Misconfigured."""
        self.personalities = personalities(settings.agent.personalities)
        self.default = checked_default(settings.agent.personality, self.personalities)
        self._trusted = trusted_folders(settings.agent.trusted_dirs, user_home)
        self._home = home
        self._user_home = user_home
        self._workdir = workdir
        self._hints = hints
        self._given = given
        self._clock = clock
        self._latest: dict[Setting, Latest] = {}

    async def prompt(self, session: Session, owners: bool) -> Prompt:
        """For the conversation that begins there now; `owners`: nobody else reads along. Many may
        begin at once: what was read just now, and has not changed, is not read again."""
        turn = session.turn
        setting = Setting(
            platform=turn.address.platform if turn is not None else session.key.split(":")[2],
            workdir=session.facts.get("workdir", "") or self._workdir,
            personality=session.facts.get("personality", ""),
            instructions=session.facts.get("instructions", ""),
            owners=owners,
        )
        now, stand = time.monotonic(), self._stand(setting)
        latest = self._latest.get(setting)
        if latest is not None and latest.stand == stand and now - latest.at < JUST_NOW_S:
            return latest.prompt
        parts, labels = await asyncio.to_thread(self.parts, setting)
        prompt = Prompt(compose(parts), labels)
        if len(self._latest) >= LATEST_MAX:
            self._latest.clear()
        self._latest[setting] = Latest(now, stand, prompt)
        return prompt

    def _stand(self, setting: Setting) -> Stand:
        """Which version of the files that people edit is there."""
        folder = Path(setting.workdir)
        files = (*(self._home / name for name in EDITED), *(folder / name for name in NAMES))
        return tuple(_version(file) for file in files)

    def parts(self, setting: Setting) -> tuple[tuple[PromptPart, ...], tuple[str, ...]]:
        """And what a policy should know of them."""
        folder = Path(setting.workdir)
        files = context_files(folder, home=self._user_home, trusted=self._trusted)
        here = place(self._clock(), setting.workdir, this_machine())
        sources = Sources(
            soul=_soul(self._home / SOUL),
            personality=chosen(setting.personality, self.default, self.personalities),
            given=self._given(setting.owners),
            context=files.text,
            hints=self._hints.get(setting.platform, ""),
            conversation=here.text,
            instructions=setting.instructions,
        )
        return parts_of(sources), tuple(sorted({*files.labels, *here.labels}))


def _version(file: Path) -> tuple[int, int]:
    try:
        found = file.stat()
    except OSError:
        return (0, 0)
    return (found.st_mtime_ns, found.st_size)


def _soul(file: Path) -> str:
    """One that cannot be read is none: the agent speaks all the same."""
    try:
        with file.open(encoding="utf-8", errors="replace") as text:
            return text.read(SOUL_CHARS_MAX)
    except OSError:
        return ""

"""The channel of answers that are kept on this machine: a file for each, in the job's folder."""

import asyncio
import hashlib
from collections.abc import Sequence
from pathlib import Path

from hermes.core.channel import Manifest
from hermes.core.errors import ChannelDown, ChannelRefused
from hermes.core.jobs import SCHEDULE
from hermes.core.messages import Reply

MANIFEST = Manifest(name=SCHEDULE, audience="unattended", on_doubt="same_key", chats=False)
AGAIN_S = 30.0


class KeptAnswers:
    """See `Channel`. The same reply is written to the same file, however often it is sent."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def manifest(self) -> Manifest:
        return MANIFEST

    def render(self, text: str) -> Sequence[str]:
        return (text,)

    async def send(self, reply: Reply, chunk: str, *, key: str) -> str:
        """Write an answer. What is said on the way is in the journal, and no file."""
        if reply.kind == "answer" or "/notice-" not in reply.id:
            await asyncio.to_thread(self._keep, reply, chunk)
        return key

    def _keep(self, reply: Reply, text: str) -> None:
        job = reply.address.chat
        if not job or Path(job).name != job:
            raise ChannelRefused(f"{job!r} is not the id of a job")
        path = self._folder / job / f"{_name(reply.id)}.md"
        try:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            new = path.with_suffix(".new")
            new.write_text(f"{text}\n", encoding="utf-8")
            new.chmod(0o600)
            new.replace(path)
        except OSError as error:
            raise ChannelDown(f"{path}: {error.strerror}", delay_s=AGAIN_S) from error


def _name(reply: str) -> str:
    """Return a file's name that sorts by time: a turn's id begins with it."""
    turn, _, ordinal = reply.partition("/")
    plain = turn if turn.isalnum() else hashlib.sha256(reply.encode()).hexdigest()[:26]
    return plain if ordinal == "0" or not ordinal.isdigit() else f"{plain}-{ordinal}"

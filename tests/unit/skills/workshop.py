"""Skills to install, change and attack, and a shelf to put them on."""

import io
import json
import os
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Literal, cast

from hermes.core.channel import CommandContext
from hermes.core.ids import CallId, SessionKey, TurnId
from hermes.core.messages import Call
from hermes.core.ports import ToolContext, ToolResult
from hermes.skills.library import SkillLibrary
from hermes.skills.tools import skill_tools

BODY = "# Do it\n\nFirst this, then that.\n"


def skill_md(name: str = "good", description: str = "Does good things", body: str = BODY) -> str:
    return f"---\nname: {name}\ndescription: {description}\n---\n\n{body}"


def folder(place: Path, files: Mapping[str, str | bytes] | None = None, name: str = "good") -> Path:
    """A skill on disk."""
    for path, content in {"SKILL.md": skill_md(name), **(files or {})}.items():
        target = place / name / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)
    return place / name


def zipped(place: Path, files: Mapping[str, str]) -> Path:
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return place


def tarred(place: Path, *members: tuple[tarfile.TarInfo, bytes], mode: str = "w:gz") -> Path:
    with tarfile.open(place, cast("Literal['w:gz']", mode)) as archive:
        for head, content in members:
            head.size = len(content) if head.isreg() else 0
            archive.addfile(head, io.BytesIO(content))
    return place


def member(name: str, kind: bytes = tarfile.REGTYPE, link: str = "") -> tarfile.TarInfo:
    head = tarfile.TarInfo(name)
    head.type, head.linkname = kind, link
    return head


class Workshop:
    """A home with a shelf, and an agent at it."""

    def __init__(self, home: Path) -> None:
        self.home = home / "skills"
        self.builtin = home / "builtin"
        self.made = home / "made"
        for each in (self.home, self.builtin, self.made):
            each.mkdir(parents=True)
        self.now = 1_000.0
        self.calls = 0

    def shelf(self, *disabled: str) -> SkillLibrary:
        """A new one each time: nothing may depend on what a process remembers."""
        return SkillLibrary(
            self.home,
            environ=os.environ,
            clock=lambda: self.now,
            disabled=disabled,
            builtin=self.builtin,
        )

    def install(self, name: str = "good", **files: str) -> str:
        """Returns the digest."""
        source = folder(self.made, files, name)
        candidate = self.shelf().intake.fetch(str(source))
        return self.shelf().intake.install(candidate).digest

    async def use(
        self,
        tool: str,
        *,
        call: str = "",
        writes: Literal["propose", "apply"] = "propose",
        labels: tuple[str, ...] = (),
        **arguments: object,
    ) -> str:
        return (await self.result(tool, call, writes, labels, arguments)).text

    async def result(
        self,
        tool: str,
        call: str,
        writes: Literal["propose", "apply"],
        labels: tuple[str, ...],
        arguments: Mapping[str, object],
    ) -> ToolResult:
        self.calls += 1
        tools = {each.spec.name: each for each in skill_tools(self.shelf(), agent_writes=writes)}
        text = json.dumps(arguments)
        assert tools[tool].check(text) == ""
        context = ToolContext(
            session=SessionKey("agent:main:local:dm:main"),
            turn=TurnId("t"),
            call=Call(id=CallId(call or f"t-{self.calls}"), tool=tool, arguments=text),
            facts={},
            labels=frozenset(labels),
            watch=lambda _glimpse: None,
            host=cast("CommandContext", None),
        )
        return await tools[tool].run(context)

    async def propose(self, name: str = "mine", **more: object) -> str:
        """The id of the proposal."""
        told = await self.use(
            "skill_manage",
            **{  # type: ignore[arg-type]
                "action": "create",
                "name": name,
                "why": "it took long",
                "description": "Does mine",
                "instructions": BODY,
                **more,
            },
        )
        waiting = [p for p in self.shelf().proposals.waiting() if p.name == name]
        return waiting[0].id if waiting else told

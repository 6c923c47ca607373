"""A copy of the folder for one subagent, and what it has changed there.

A git worktree where there is git, with what is not committed yet; else a copy. Both are made by
commands in the workspace's own box, so they can do no more than the subagent itself.
"""

from shlex import quote

from hermes.core.errors import ToolFailed
from hermes.core.ids import CallId, SessionKey
from hermes.ports.terminal import CommandLaunch, Ended
from hermes.ports.workspace import Workspace

FOLDER = ".subagents/copies"  # below the workspace; git and searches leave it alone
COPY_MB_MAX = 500
DIFF_BYTES_MAX = 20_000
LIMIT_S = 300.0
PLAIN = "-c core.fsmonitor=false -c core.hooksPath=/dev/null"
AUTHOR = "-c user.name=Hermes -c user.email=hermes@localhost -c commit.gpgsign=false"
MAKE = """\
set -e
mkdir -p {root}/{folder}; printf '*\\n' > {root}/.subagents/.gitignore
cd {source}
[ -e {target}.ready ] && exit 0
rm -rf {target}
if git rev-parse --verify -q HEAD > /dev/null 2>&1; then
  base=$(git {plain} {author} stash create 2> /dev/null || true)
  git worktree prune 2> /dev/null || true
  if git {plain} worktree add -q --detach {target} "${{base:-HEAD}}" 2> /dev/null; then
    touch {target}.ready; exit 0
  fi
fi
size=$(du -sm --exclude=.subagents . | cut -f1)
if [ "$size" -gt {most} ]; then
  echo "the folder has $size MB; at most {most} MB are copied"; exit 3
fi
mkdir -p {target}
tar --exclude=./.subagents --exclude=./.git -cf - . | tar -xf - -C {target}
cd {target}
if command -v git > /dev/null; then
  git {plain} init -q && git add -A && git {plain} {author} commit -q --allow-empty -m base
fi
touch {target}.ready
"""
DIFF = """\
cd {target} && git {plain} add -A -N . 2> /dev/null
git {plain} --no-pager diff --no-ext-diff --no-textconv HEAD | head -c {most}
"""


class CopiedFolders:
    """Makes the copies, and finds what was changed in them."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace

    async def make(self, session: SessionKey, part: str, source: str, root: str) -> str:
        """Return the copy that this part of a call works in. Raises ToolFailed."""
        target = f"{root}/{FOLDER}/{part}"
        command = MAKE.format(
            root=quote(root),
            folder=FOLDER,
            source=quote(source),
            target=quote(target),
            plain=PLAIN,
            author=AUTHOR,
            most=COPY_MB_MAX,
        )
        code, said = await self._run(f"{part}.copy", session, command, source, root)
        if code != 0:
            why = " ".join(said.split())[-500:] or "the command failed"
            raise ToolFailed(
                f"isolate: no copy of {source} could be made: {why}. Nothing was begun."
            )
        return target

    async def diff(self, session: SessionKey, part: str, target: str) -> str:
        """Return what was changed in the copy; empty when nothing was, or it cannot be told."""
        root = target.partition(f"/{FOLDER}/")[0]
        command = DIFF.format(target=quote(target), plain=PLAIN, most=DIFF_BYTES_MAX)
        try:
            code, said = await self._run(f"{part}.diff", session, command, target, root)
        except ToolFailed:
            return ""
        return said if code == 0 else ""

    async def _run(
        self, name: str, session: SessionKey, command: str, workdir: str, root: str
    ) -> tuple[int | None, str]:
        terminal, id_ = self._workspace.terminal, CallId(name)
        launch = CommandLaunch(
            id=id_,
            session=session,
            command=command,
            workdir=workdir,
            timeout_s=LIMIT_S,
            profile=terminal.usual,
            workspace=root if root != self._workspace.places.root else "",
        )
        await terminal.launch(launch)
        seen = await terminal.wait(id_, LIMIT_S)
        said = (await terminal.read(id_, 0, DIFF_BYTES_MAX + 1_000)).decode("utf-8", "replace")
        return seen.state.code if isinstance(seen.state, Ended) else None, said

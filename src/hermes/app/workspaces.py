"""Choose the workspace by `terminal.backend`. Part of the composition root.

A backend is named here, in the type of the setting and nowhere else; only the one that is used is
imported.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, assert_never

from hermes.app.storage import CALLS, SCRATCH
from hermes.lazy import LazyModule
from hermes.ports.sandbox import Sandbox, profile_of
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.ports.terminal import Terminal
    from hermes.ports.workspace import Files, Workspace
    from hermes.secrets import files as secret_files
    from hermes.secrets.live import Sink
    from hermes.skills import places as skill_places
    from hermes.terminals import local as local_terminal
    from hermes.terminals import local_files
    from hermes.terminals import register as terminal_register
    from hermes.terminals import workspace as local_workspace
    from hermes.terminals.sandbox import choice as sandbox_choice
    from hermes.terminals.sandbox import probed as probed_sandbox
else:
    secret_files = LazyModule("hermes.secrets.files")
    skill_places = LazyModule("hermes.skills.places")
    local_terminal = LazyModule("hermes.terminals.local")
    local_files = LazyModule("hermes.terminals.local_files")
    terminal_register = LazyModule("hermes.terminals.register")
    local_workspace = LazyModule("hermes.terminals.workspace")
    sandbox_choice = LazyModule("hermes.terminals.sandbox.choice")
    probed_sandbox = LazyModule("hermes.terminals.sandbox.probed")


def workspace_of(settings: Settings, workdir: Path) -> Path:
    """Return the folder in which commands run, and the only one that they can change."""
    return Path(settings.terminal.workdir or workdir).expanduser().absolute()


def sandbox_of(
    home: Path, settings: Settings, workdir: Path, environ: Mapping[str, str]
) -> Sandbox:
    """Make the sandbox around every command. Nothing is tried before the first one needs it."""
    chosen = settings.terminal
    return probed_sandbox.ProbedSandbox(
        chosen.sandbox,
        workspace=workspace_of(settings, workdir),
        home=home,
        environ=environ,
        grant=sandbox_choice.SandboxGrant(
            hosts=chosen.allow_hosts,
            readable=(home / "skills", skill_places.BUILTIN),
            covered=tuple(home / "skills" / name for name in skill_places.UNAPPROVED),
            settled=chosen.workdir is not None,
        ),
    )


def workspace_for(
    home: Path, settings: Settings, workdir: Path, *, environ: Mapping[str, str], sink: "Sink"
) -> "Workspace":
    """Make the model's workspace. Nothing is tried before the first call needs it."""
    terminal = settings.terminal
    match terminal.backend:
        case "local":
            commands = local_terminal.LocalTerminal(
                home / CALLS,
                environ=environ,
                sandbox=sandbox_of(home, settings, workdir, environ),
                usual=profile_of(terminal.sandbox, terminal.allow_hosts),
                limits=terminal_register.CommandLimits(
                    clean=lambda output: secret_files.clean_file(output, sink),
                    scratch=home / SCRATCH,
                ),
            )
            return _local(home, settings, workdir, commands)
        case unknown:
            assert_never(unknown)


def idle_workspace(home: Path, settings: Settings, workdir: Path) -> "Workspace":
    """Make a workspace only to describe it; no command is run in it."""
    match settings.terminal.backend:
        case "local":
            return _local(
                home, settings, workdir, local_terminal.LocalTerminal(home / CALLS, environ={})
            )
        case unknown:
            assert_never(unknown)


def files_of(settings: Settings) -> "Files":
    """Return only the files, for what is read before there is a workspace."""
    match settings.terminal.backend:
        case "local":
            return local_files.LocalFiles()
        case unknown:
            assert_never(unknown)


def _local(home: Path, settings: Settings, workdir: Path, terminal: "Terminal") -> "Workspace":
    return local_workspace.LocalWorkspace(
        terminal,
        workdir=str(workspace_of(settings, workdir)),
        home=str(Path.home()),
        guarded=(str(home.absolute()),),
        scratch=str(home.absolute() / SCRATCH) if settings.terminal.sandbox != "none" else "",
    )

"""The models of an engine, and the scripts that speak in the place of one.

Part of the composition root.
"""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from hermes.app.storage import CALLS
from hermes.core.messages import SCRIPT, TurnOptions
from hermes.core.ports import Provider, Tool, Toolset
from hermes.lazy import Lazy, LazyModule

if TYPE_CHECKING:
    from hermes.app.models import Models
    from hermes.ports.workspace import Workspace
    from hermes.settings import Settings
    from hermes.terminals import scripts as local_scripts
    from hermes.tools import labelled
    from hermes.tools.code import execute as code_execute
    from hermes.tools.code import script as code_script
    from hermes.tools.files.file_labels import FileLabels
else:
    local_scripts = LazyModule("hermes.terminals.scripts")
    code_execute = LazyModule("hermes.tools.code.execute")
    code_script = LazyModule("hermes.tools.code.script")
    labelled = LazyModule("hermes.tools.labelled")


class ModelsAndScripts(Struct, frozen=True, eq=False):
    models: "Models"
    scripts: Lazy["code_script.Scripts"]

    def provider(self, name: str) -> Provider:
        """Return the model of a name. Raises Misconfigured."""
        if name.startswith(SCRIPT):
            return self.scripts().model(name)
        return self.models.provider(name)

    def window(self, name: str) -> int:
        """Return how much a model can read; a script is never too long to be read on."""
        return 0 if name.startswith(SCRIPT) else self.models.window(name)

    async def leave(self, options: TurnOptions) -> None:
        await self.scripts().leave(options)

    async def aclose(self) -> None:
        await self.models.aclose()
        if self.scripts.is_made:
            await self.scripts().aclose()


def with_scripts(
    models: "Models", home: Path, settings: "Settings", workspace: Callable[[], "Workspace"]
) -> ModelsAndScripts:
    """Nothing of scripts is made before the first one begins."""

    def scripts() -> "code_script.Scripts":
        folders = local_scripts.LocalScripts(home / CALLS)
        return code_script.Scripts(workspace().terminal, folders, _limits(settings))

    return ModelsAndScripts(models, Lazy(scripts))


def script_tools(
    home: Path,
    settings: "Settings",
    workspace: "Workspace",
    tools: Callable[[], Toolset],
    labels: "FileLabels",
) -> tuple[Tool, ...]:
    """Return `execute_code`, unless it is off. `tools` are all that a script may have."""
    if not settings.code.enabled:
        return ()
    place = code_execute.CodePlace(
        workspace=workspace,
        tools=tools,
        scripts=local_scripts.LocalScripts(home / CALLS),
        limits=_limits(settings),
        begin=labelled.LabelledCommands(workspace, labels).begin_program,
        python=settings.code.python,
    )
    return (code_execute.execute_code_tool(place),)


def _limits(settings: "Settings") -> "code_script.CodeLimits":
    return code_script.CodeLimits(
        timeout_s=settings.code.timeout_s,
        calls_max=settings.code.calls_max,
        output_bytes=settings.code.output_bytes,
    )

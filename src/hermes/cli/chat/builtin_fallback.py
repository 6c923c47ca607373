"""Use the built-in model when no model is set up, and install it if needed.

It is separate from the first-minute questions, so that a chat with a model loads none of this.
"""

from msgspec.structs import replace

from hermes.cli.context import CliContext
from hermes.cli.gateway.service.lock import running
from hermes.cli.model import builtin
from hermes.installed import started_by_launcher
from hermes.settings import survey

PROVIDER = "HERMES_MODEL__PROVIDER"
INSTALLING = (
    "No model is set up yet. Installing the small built-in one first "
    f"({builtin.DOWNLOAD_MB} MB to download, only this once)."
)
ASIDE = "No model is set up: the small built-in one answers. A real one: hermes model"


def with_builtin_fallback(context: CliContext) -> CliContext:
    """Return the context with the built-in model chosen, and say so. A running gateway has a model
    of its own. Only a clone's launcher installs without asking, because it owns its environment.
    Raise Misconfigured when the model cannot be installed."""
    settings, problems = survey(context.home, context.environ)
    if problems or settings.model.provider or running(context.home) is not None:
        return context
    if not builtin.installed():
        if not started_by_launcher():
            return context
        context.console.tell(INSTALLING)
        builtin.install(context)
    context.console.tell(ASIDE)
    return replace(context, environ={**context.environ, PROVIDER: builtin.NAME})

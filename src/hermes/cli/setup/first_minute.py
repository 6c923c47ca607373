"""The first minute: no model is set up, and a person sits at a terminal.

It offers the built-in model, installs it with progress, and lets it answer. It also offers to set
up a real model and a chat, and a link that makes `hermes` a command.
"""

from hermes.app.models import offer
from hermes.cli.context import CliContext
from hermes.cli.model import builtin, choose
from hermes.cli.model.saving import PickedModel, keep
from hermes.cli.output.questions import Questions
from hermes.cli.setup.link import offer_link
from hermes.core.errors import Misconfigured, Rejected
from hermes.settings import Settings, survey

BUILTIN, CHOICE, QUIT = 1, 2, 3


def ready(context: CliContext, questions: Questions) -> bool:
    """Ask the person to set up a model if there is none. Return False if they want to leave."""
    if _settings(context).model.provider:
        offer_link(context, questions)
        return True
    tell = questions.tell
    context.console.head("Welcome to Hermes, your own AI agent.")
    tell("No model is set up yet.")
    size = "" if builtin.installed() else f" ({builtin.DOWNLOAD_MB} MB download)"
    tell(f"  1  try the small built-in one now{size}: runs on this computer, not clever")
    tell("  2  choose a provider: paste a key or a URL (hermes model)")
    tell("  3  leave")
    while True:
        picked = questions.number("1, 2 or 3", default=BUILTIN, most=QUIT, refuse=lambda _n: "")
        if picked == QUIT:
            return False
        try:
            _take(context, questions, picked)
        except (Rejected, Misconfigured) as refused:
            tell(f"hermes: {refused}")
            continue
        offer_link(context, questions)
        return True


def _take(context: CliContext, questions: Questions, picked: int) -> None:
    if picked == CHOICE:
        choose.choose_model(choose.COMMAND.parse([]), context, questions)
        return
    if not builtin.installed():
        context.console.tell(f"{builtin.LIMITS} {builtin.COSTS}.")
        builtin.install(context)
    found, _near = offer(builtin.NAME)
    assert found is not None, "it is in the catalogue"
    keep(context, PickedModel(offer=found))


def _settings(context: CliContext) -> Settings:
    settings, problems = survey(context.home, context.environ)
    for problem in problems:
        raise problem
    return settings

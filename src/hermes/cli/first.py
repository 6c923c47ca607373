"""The first minute: nobody is set up to answer, and somebody sits at a terminal.

The built-in model is offered, installed with its progress, and answers; how to plug in a real one
and a chat is said in the same breath.
"""

from hermes.cli import model, model_local
from hermes.cli.model_grammar import CHOOSE
from hermes.cli.model_kept import Picked, keep
from hermes.cli.place import Place
from hermes.cli.service.questions import Questions
from hermes.core.errors import Rejected
from hermes.models import offer
from hermes.settings import Settings, survey

BUILTIN, CHOICE, QUIT = 1, 2, 3


def ready(place: Place, questions: Questions) -> bool:
    """Is there a model to talk to? If not, the person is asked; False: they want to leave."""
    if _settings(place).model.provider:
        return True
    tell = questions.tell
    place.console.head("Welcome to Hermes, an AI agent of your own.")
    tell("No model is set up yet.")
    size = "" if model_local.installed() else f" ({model_local.DOWNLOAD_MB} MB download)"
    tell(f"  1  try the small built-in one now{size}: runs on this computer, not clever")
    tell("  2  choose a provider: paste a key or a URL (hermes model)")
    tell("  3  leave")
    while True:
        picked = questions.number("1, 2 or 3", default=BUILTIN, most=QUIT, refuse=lambda _n: "")
        if picked == QUIT:
            return False
        try:
            _take(place, questions, picked)
        except Rejected as refused:
            tell(f"hermes: {refused}")
            continue
        return True


def _take(place: Place, questions: Questions, picked: int) -> None:
    if picked == CHOICE:
        model.run(CHOOSE.parse([]), place, questions)
        return
    if not model_local.installed():
        place.console.tell(f"{model_local.LIMITS} {model_local.COSTS}.")
        model_local.install(place)
    found, _near = offer(model_local.NAME)
    assert found is not None, "it is in the catalogue"
    keep(place, Picked(offer=found))


def _settings(place: Place) -> Settings:
    settings, problems = survey(place.home, place.environ)
    for problem in problems:
        raise problem
    return settings

"""Who answers a message without a terminal where nobody was chosen: the built-in model, if any.

Apart from the first minute, which asks and installs: a question with a model pays for none of that.
"""

from msgspec.structs import replace

from hermes.cli.model_local import NAME, installed
from hermes.cli.place import Place
from hermes.cli.service.lock import running
from hermes.settings import survey

PROVIDER = "HERMES_MODEL__PROVIDER"
ASIDE = "No model is set up: the small built-in one answers. A real one: hermes model"


def lent(place: Place) -> Place:
    """The same place, with that model chosen, which is said. A gateway that runs has a model of its
    own."""
    settings, problems = survey(place.home, place.environ)
    if problems or settings.model.provider or running(place.home) is not None:
        return place
    if not installed():
        return place
    place.console.tell(ASIDE)
    return replace(place, environ={**place.environ, PROVIDER: NAME})

"""The first minute: no model is set up, and a person sits at a terminal.

It offers what the person has already, the built-in models, a provider of their choice, and a tour
without any model. It also offers a link that makes `hermes` a command.
"""

import asyncio
from collections.abc import Callable

from msgspec import Struct

from hermes.app.found_models import FoundModel, found_keys, found_servers
from hermes.app.models import offer
from hermes.app.weights import Weights
from hermes.cli.context import CliContext
from hermes.cli.demo import tour
from hermes.cli.model import builtin, choose
from hermes.cli.model.saving import PickedModel, keep
from hermes.cli.output.questions import Questions
from hermes.cli.setup.link import offer_link
from hermes.core.errors import Misconfigured, Rejected, StoreFailed
from hermes.settings import Settings, survey

MODELS_SHOWN = 3
QUESTION = "Your choice"


class FirstStep(Struct, frozen=True):
    """One line of the first question. `take` returns True when a model is set up."""

    text: str
    take: Callable[[], bool]


def ready(context: CliContext, questions: Questions) -> bool:
    """Ask the person to set up a model if there is none. Return False if they want to leave."""
    settings = _settings(context)
    if settings.model.provider:
        offer_link(context, questions)
        return True
    context.console.head("Welcome to Hermes, your own AI agent.")
    steps = _steps(context, questions, settings)
    questions.tell("No model is set up yet. What would you like to use?")
    for n, step in enumerate(steps, start=1):
        questions.tell(f"  {n}  {step.text}")
    questions.tell(f"  {len(steps) + 1}  leave")
    while True:
        picked = questions.number(QUESTION, default=1, most=len(steps) + 1, refuse=lambda _n: "")
        if picked > len(steps):
            return False
        try:
            is_done = steps[picked - 1].take()
        except (Rejected, Misconfigured, StoreFailed) as refused:
            questions.tell(f"hermes: {refused}")
            continue
        if is_done:
            offer_link(context, questions)
            return True


def _steps(context: CliContext, questions: Questions, settings: Settings) -> list[FirstStep]:
    """Return what can be chosen: what is there already first."""
    fitting = builtin.default_of(settings)
    found = (*found_keys(settings), *asyncio.run(found_servers(settings)))

    def use(one: FoundModel) -> Callable[[], bool]:
        return lambda: _use_found(context, questions, one)

    return [
        *(FirstStep(_described(one), use(one)) for one in found),
        FirstStep(
            f"a built-in one: {builtin.described(settings, fitting)}",
            lambda: _use_builtin(context, settings, fitting),
        ),
        FirstStep(
            "another built-in one, smaller or stronger",
            lambda: _choose(context, questions, builtin.NAME),
        ),
        FirstStep(
            "another provider: paste a key or a URL (hermes model)",
            lambda: _choose(context, questions, None),
        ),
        FirstStep("first a tour: two minutes, no model needed", lambda: _tour(context)),
    ]


def _described(found: FoundModel) -> str:
    if found.key:
        return f"{found.title}, with your key in {found.key}"
    shown = ", ".join(found.models[:MODELS_SHOWN])
    more = len(found.models) - MODELS_SHOWN
    return f"{found.title} on this computer: {shown}{f' and {more} more' if more > 0 else ''}"


def _use_found(context: CliContext, questions: Questions, found: FoundModel) -> bool:
    """Try what was found, and keep it if it answers."""
    chosen, _near = offer(found.provider)
    assert chosen is not None, "it is in the catalogue"
    options = choose.COMMAND.parse([])
    choice = choose.ModelChoice(options, context, questions, suggests=True)
    picked = PickedModel(offer=chosen, base_url=found.base_url or chosen.base_url)
    choice.settle(lambda: choice.with_model(picked))
    return True


def _use_builtin(context: CliContext, settings: Settings, weights: Weights) -> bool:
    if builtin.download_bytes(settings, weights):
        context.console.tell(f"{builtin.LIMITS} {builtin.terms(settings, weights)}")
        builtin.prepare(context, weights)
    chosen, _near = offer(builtin.NAME)
    assert chosen is not None, "it is in the catalogue"
    keep(context, PickedModel(offer=chosen, name=weights.name))
    return True


def _choose(context: CliContext, questions: Questions, provider: str | None) -> bool:
    options = choose.COMMAND.parse([])
    options.provider = provider
    choose.choose_model(options, context, questions)
    return True


def _tour(context: CliContext) -> bool:
    tour.show(context)
    return False


def _settings(context: CliContext) -> Settings:
    settings, problems = survey(context.home, context.environ)
    for problem in problems:
        raise problem
    return settings

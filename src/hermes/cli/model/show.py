"""hermes model show: show the current model."""

from hermes.app.models import has_engine, offer
from hermes.cli.command import CliCommand, JsonOptions
from hermes.cli.context import CliContext
from hermes.cli.errors import DONE, FAILED
from hermes.cli.model.keys import key_name
from hermes.cli.options import json_option

NOBODY = (
    "No model is set up. Choose one: hermes model; "
    "or use the small built-in one: hermes model --provider local"
)


def run(options: JsonOptions, context: CliContext) -> int:
    settings = context.settings()
    model = settings.model
    found, _near = offer(model.provider)
    if not model.provider or found is None:
        if options.json:
            context.console.document({"provider": None, "builtin_installed": has_engine()})
        context.console.tell(NOBODY)
        return FAILED
    shown = {
        "provider": found.name,
        "title": found.title,
        "model": model.name,
        "base_url": model.base_url or found.base_url,
        "key": key_name(settings, found),
        "context_length": model.context_length,
        "fallbacks": [f"{each.provider}:{each.name}" for each in model.fallbacks],
        "small_model": settings.agent.small_model,
    }
    if options.json:
        context.console.document({**shown, "builtin_installed": has_engine()})
        return DONE
    for name, value in shown.items():
        text = ", ".join(value) if isinstance(value, list) else str(value or "")
        if text:
            context.console.say(f"{name.replace('_', ' '):<15} {text}")
    context.console.tell("Another one: hermes model")
    return DONE


COMMAND = CliCommand(
    options=JsonOptions,
    run=run,
    arguments=json_option,
)

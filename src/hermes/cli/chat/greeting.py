"""The first lines of a window: which model answers, how to get help, and what to ask first."""

from hermes.cli.output.hints import as_called
from hermes.settings import Settings
from hermes.views.suggestions import HERE, TALK_ONLY, suggested

BUILTIN = "local"  # the provider of the small models that are built in
SMALLEST = ("", "smollm2-135m")  # they cannot use tools, and neither can what is not known


def greeting(settings: Settings) -> tuple[str, ...]:
    chosen = settings.model
    name = f"{chosen.provider}:{chosen.name}".rstrip(":")
    suggestions = HERE
    if chosen.provider == BUILTIN:
        who = f"A small built-in model answers ({chosen.name or 'on this computer'}): for trying "
        who += "things out. Be patient with it."
        real = "A real model:  hermes model            (a provider and a key, or any URL)"
        suggestions = TALK_ONLY if chosen.name in SMALLEST else HERE
    else:
        who = f"The model is {name}."
        real = "Another model: hermes model"
    lines = (
        f"This is Hermes, your own agent. {who}",
        real,
        "Chat apps:     hermes gateway setup    (Telegram, HTTP)",
        "All commands:  hermes --help; problems: hermes doctor; a tour: hermes tour",
        suggested(suggestions),
    )
    return tuple(map(as_called, lines))

"""The first lines of a window: which model answers, and how to get help."""

from hermes.cli.output.hints import as_called
from hermes.settings import Settings

BUILTIN = "local"  # the provider of the small model that is built in


def greeting(settings: Settings) -> tuple[str, ...]:
    chosen = settings.model
    if chosen.provider == BUILTIN:
        who = "The small built-in model answers. It runs on this computer and is not clever."
        real = "A real model:  hermes model            (a provider and a key, or any URL)"
    else:
        who = "The model is " + f"{chosen.provider}:{chosen.name}".rstrip(":") + "."
        real = "Another model: hermes model"
    lines = (
        f"This is Hermes, your own agent. {who}",
        real,
        "Chat apps:     hermes gateway setup    (Telegram, HTTP)",
        "All commands:  hermes --help; problems: hermes doctor",
    )
    return tuple(map(as_called, lines))

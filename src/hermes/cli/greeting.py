"""What a person reads first in a window: who answers, and how to get more of it."""

from hermes.settings import Settings

BUILTIN = "local"  # the provider of the small model that is built in


def greeting(settings: Settings) -> tuple[str, ...]:
    chosen = settings.model
    if chosen.provider == BUILTIN:
        who = "The small built-in model answers: it runs on this computer and is not clever."
        real = "A real model:  hermes model            (a provider and a key, or any URL)"
    else:
        who = f"{chosen.provider}:{chosen.name}".rstrip(":") + " answers."
        real = "Another model: hermes model"
    return (
        f"This is Hermes, an agent of your own. {who}",
        real,
        "A chat:        hermes gateway setup    (Telegram, HTTP)",
        "All commands:  hermes --help; what is wrong: hermes doctor",
    )

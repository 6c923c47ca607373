"""Save the choice of a model: its key into .env, the rest into config.yaml."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from hermes.app.models import Offer
from hermes.cli.config.file import with_secret, with_setting, without_secret
from hermes.cli.context import CliContext
from hermes.settings import Settings, prepare
from hermes.settings.home import CONFIG, SECRETS
from hermes.settings.sources import PREFIX, overrides, read_config, read_text
from hermes.views.files import whole_file

OWN_KEY = f"{PREFIX}MODEL__API_KEY"  # it would win over the provider's own variable


@dataclass(frozen=True, kw_only=True)
class PickedModel:
    offer: Offer
    name: str = ""
    base_url: str = ""
    key: str = field(default="", repr=False)  # "": the one that is there
    context_length: int | None = None

    @property
    def variable(self) -> str:
        return self.offer.keys[0] if self.offer.keys else OWN_KEY

    def values(self) -> Mapping[tuple[str, ...], object]:
        own = self.base_url if self.base_url != self.offer.base_url else ""
        return {
            ("model", "provider"): self.offer.name,
            ("model", "name"): self.name or None,
            ("model", "base_url"): own or None,
            ("model", "context_length"): self.context_length,
        }


def keep(context: CliContext, picked: PickedModel) -> None:
    """Save the choice. The key is written first: it has no effect before config.yaml names it.
    Raise Misconfigured before anything is written."""
    file, secrets = context.home / CONFIG, context.home / SECRETS
    read_config(file)
    text, env = read_text(file), read_text(secrets)
    for path, value in picked.values().items():
        text = with_setting(text, path, value)
    if picked.key:
        text = with_setting(text, ("model", "api_key"), None)
        env = with_secret(without_secret(env, OWN_KEY), picked.variable, picked.key)
    prepare(context.home)
    if picked.key:
        whole_file(secrets.resolve(), env.encode())
    whole_file(file.resolve(), text.encode())


def overridden(context: CliContext, settings: Settings, picked: PickedModel) -> str:
    """Return the variables of this environment that override the choice; empty when none do."""
    _tree, origins = overrides(settings.secrets)
    names = [
        variable
        for path, variable in origins.items()
        if path in ("model", "model.provider", "model.name", "model.base_url", "model.api_key")
        and variable in context.environ
    ]
    names += [picked.variable] if picked.key and picked.variable in context.environ else []
    return ", ".join(sorted(set(names)))

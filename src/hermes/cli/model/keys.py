"""Say where a provider's key is stored, never the key itself."""

from hermes.app.models import Offer
from hermes.cli.model.saving import OWN_KEY
from hermes.settings import Settings


def key_name(settings: Settings, found: Offer) -> str:
    """Return the name of the setting or variable that holds the key, never the key."""
    if settings.model.api_key and settings.model.provider == found.name:
        return OWN_KEY if OWN_KEY in settings.secrets else "model.api_key"
    return next((name for name in found.keys if settings.secrets.get(name)), "")

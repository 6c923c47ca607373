"""Settings: read once at start, validated as a whole, immutable afterwards."""

from hermes.settings.home import home_of, prepare
from hermes.settings.read import load, survey
from hermes.settings.shape import Fallback, ModelSettings, Settings, TimeoutSettings

__all__ = [
    "Fallback",
    "ModelSettings",
    "Settings",
    "TimeoutSettings",
    "home_of",
    "load",
    "prepare",
    "survey",
]

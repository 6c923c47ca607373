"""What a person may set: read once at the border, checked as a whole, a frozen value ever after."""

from hermes.settings.home import home_of, prepare
from hermes.settings.read import load, survey
from hermes.settings.shape import Fallback, Model, Settings, Timeouts

__all__ = ["Fallback", "Model", "Settings", "Timeouts", "home_of", "load", "prepare", "survey"]

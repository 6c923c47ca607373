"""Failures outside of this program: a supervisor, a signal, a process that does not start."""

from hermes.core.errors import HermesError


class ServiceFailed(HermesError):
    """The machine did not do what a service command asked of it; the message names the fix."""

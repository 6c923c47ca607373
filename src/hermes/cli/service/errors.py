"""What goes wrong outside of us: a supervisor, a signal, a process that does not come up."""

from hermes.core.errors import HermesError


class ServiceFailed(HermesError):
    """The machine did not do what a service command asked of it; the message names the fix."""

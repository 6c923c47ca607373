"""What every kind of box stands on, whichever way it is built."""

from msgspec import Struct

from hermes.terminals.environment import Environments
from hermes.terminals.sandbox.bridge import Network
from hermes.terminals.sandbox.limits import Caps, Cgroups
from hermes.terminals.sandbox.places import Places


class Ground(Struct, frozen=True, kw_only=True):
    places: Places
    seen: Environments
    caps: Caps
    cgroups: Cgroups
    network: Network | None = None

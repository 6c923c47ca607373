"""The way from inside a box to the proxy: a port on the box's own loopback, and who listens there.

A process in the box's network takes connections at that port and hands each on to the proxy's
socket. The folder of the socket is what it gets, not the socket: a new gateway makes a new one.
"""

from pathlib import Path

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.views.sandbox import Guard

FOLDER, SOCKET = "network", "proxy"  # HERMES_HOME/network/proxy
PORT = 3128
PROXY = f"http://127.0.0.1:{PORT}"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
AROUND = "localhost,127.0.0.1,::1"  # the box's own servers need no proxy
ENVIRONMENT = dict.fromkeys(NAMES, PROXY) | {"no_proxy": AROUND, "NO_PROXY": AROUND}


class Network(Struct, frozen=True, kw_only=True):
    """What the owner grants, and what carries it on this machine."""

    hosts: tuple[str, ...]
    door: Path  # the folder in which the proxy has its socket
    sealed: bool = False  # this kernel can seal who listens
    lacks: str = ""  # why there cannot be one here

    @property
    def environment(self) -> dict[str, str]:
        return ENVIRONMENT

    def made_door(self) -> str:
        self.door.mkdir(mode=0o700, exist_ok=True)
        return str(self.door)


def bridge_steps(*, sealed: bool) -> tuple[str, ...]:
    """Opens the port; sealed, who listens there can reach no file."""
    return ("bridge", str(PORT), "sealed" if sealed else "plain")


def demanded(network: Network | None) -> Network:
    """Raises ToolFailed where there is none: a command that asked for it may not run without."""
    why = "no host is allowed" if network is None or not network.hosts else network.lacks
    if network is None or why:
        raise ToolFailed(
            f"The sandbox gives no network here: {why}. Nothing was run. "
            "The owner can install what is missing, or empty terminal.allow_hosts."
        )
    return network


def network_guard(network: Network | None, by: str = "an empty one") -> Guard:
    if network is None or not network.hosts:
        return Guard(name="network", active=True, by=by)
    if network.lacks:
        return Guard(name="network", active=True, by=f"refused: {network.lacks}")
    return Guard(name="network", active=True, by=f"a proxy to {', '.join(network.hosts)}")

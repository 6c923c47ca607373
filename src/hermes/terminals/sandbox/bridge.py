"""Bridge from inside a box to the egress proxy: a port on the box's own loopback.

A process in the box's network namespace accepts connections at that port and forwards each to the
proxy's Unix socket. It gets the folder of the socket, not the socket: a new gateway creates a new
one.
"""

from pathlib import Path

from msgspec import Struct

from hermes.core.errors import ToolFailed
from hermes.ports.sandbox import Guard

FOLDER, SOCKET = "network", "proxy"  # HERMES_HOME/network/proxy
PORT = 3128
PROXY = f"http://127.0.0.1:{PORT}"
NAMES = ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")
AROUND = "localhost,127.0.0.1,::1"  # the box's own servers are reached without the proxy
ENVIRONMENT = dict.fromkeys(NAMES, PROXY) | {"no_proxy": AROUND, "NO_PROXY": AROUND}


class Network(Struct, frozen=True, kw_only=True):
    """The hosts that the owner allows, and what provides the network on this machine."""

    hosts: tuple[str, ...]
    door: Path  # the folder in which the proxy has its socket
    sealed: bool = False  # this kernel can confine the bridge
    lacks: str = ""  # why no network is possible here

    @property
    def environment(self) -> dict[str, str]:
        return ENVIRONMENT

    def made_door(self) -> str:
        self.door.mkdir(mode=0o700, exist_ok=True)
        return str(self.door)


def bridge_steps(*, sealed: bool) -> tuple[str, ...]:
    """Return the steps that open the port; a sealed bridge can reach no file."""
    return ("bridge", str(PORT), "sealed" if sealed else "plain")


def demanded(network: Network | None) -> Network:
    """Return the network. Raise ToolFailed if it is missing: a command that needs it must not
    run."""
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

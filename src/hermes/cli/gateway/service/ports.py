"""Check whether a server can listen on a port, by trying it for a moment."""

import errno
import socket
from dataclasses import dataclass

PORT_MAX, STEPS = 65_535, 50


@dataclass(frozen=True)
class Unusable:
    """Why a server cannot listen there. `port` when another port would do; else the host is
    wrong."""

    why: str
    port: bool


def unusable(host: str, port: int) -> Unusable | None:
    """Return None when a server can listen there, else why not."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        with socket.create_server((host, port), family=family):
            return None
    except OSError as refused:
        if refused.errno == errno.EADDRINUSE:
            return Unusable(f"port {port} of {host} is taken by another program", port=True)
        why = f"{host}:{port} cannot be used ({refused.strerror or refused})"
        return Unusable(why, port=refused.errno == errno.EACCES)


def next_free(host: str, port: int) -> int:
    """Return a free port near this one; the one after it when none is free."""
    near = range(max(port, 1024) + 1, min(port + STEPS, PORT_MAX) + 1)
    return next((each for each in near if unusable(host, each) is None), min(port + 1, PORT_MAX))

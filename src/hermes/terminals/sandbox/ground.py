"""What every kind of sandbox shares, however it is built."""

import os
from collections.abc import Callable

from msgspec import Struct

from hermes.ports.sandbox import Guard
from hermes.terminals.environment import Environments
from hermes.terminals.sandbox.bridge import Network
from hermes.terminals.sandbox.limits import Caps, Cgroups
from hermes.terminals.sandbox.places import SandboxPaths
from hermes.terminals.sandbox.seccomp import Machine


class Means(Struct, frozen=True, kw_only=True):
    """What this machine supports, found by trying."""

    machine: Machine
    namespaces: bool = True
    own_users: bool = True  # namespaces only inside a user namespace: we are not root
    other_user: bool = False  # root switches to the user of the box
    scoped: bool = False  # bubblewrap starts in a Landlock domain


class Ground(Struct, frozen=True, kw_only=True):
    places: SandboxPaths
    seen: Environments
    caps: Caps
    cgroups: Cgroups
    network: Network | None = None
    maps: Callable[[str], bool] = lambda _path: False  # as root: whether a box can own these files

    def user_of_box(self, means: Means, workspace: str, scratch: str = "") -> bool:
        """Return True if the box runs as a user other than root."""
        shown = (workspace, scratch) if scratch else (workspace,)
        return means.other_user and all(map(self.maps, shown))


def shared_guards(ground: Ground, means: Means) -> tuple[Guard, ...]:
    """Return the protections that are the same for every kind of sandbox."""
    other = ground.user_of_box(means, str(ground.places.workspace))
    root, grouped = os.geteuid() == 0, bool(ground.cgroups.parents)
    user = Guard(name="user of its own", active=True, by="your account, without special rights")
    if root:
        user = Guard(name="user of its own", active=other, by="root becomes another user")
    counted = grouped or (means.own_users and (other or not root))
    return (
        user,
        Guard(name="system calls", active=True, by="a seccomp filter"),
        Guard(name="number of processes", active=counted, by="a control group or own users"),
        Guard(name="memory of all of them", active=grouped, by="a control group"),
    )

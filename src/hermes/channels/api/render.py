"""The outcome of a message as OpenAI's clients expect it. Pure."""

from collections.abc import Mapping
from typing import Final

import msgspec

from hermes.channels.api.refusals import NO_RETRY, Unserved, fault_body
from hermes.channels.api.shapes import (
    AssistantMessage,
    ChatCompletion,
    ChunkChoice,
    CompletionChoice,
    CompletionChunk,
    CompletionDetails,
    Delta,
    LastChunk,
    PromptDetails,
    Tokens,
)
from hermes.core.messages import Usage
from hermes.views.answer import MessageAnswer

DONE: Final = b"data: [DONE]\n\n"
HEARTBEAT: Final = b": still here\n\n"
_PROMISE: Final = "What was done so far is kept."
_json = msgspec.json.Encoder()


def headers(session: str, answer: MessageAnswer) -> Mapping[str, str]:
    """Return the headers that name the session and the turn."""
    named = {"x-hermes-session-id": session}
    if answer.turn is not None:
        named["x-hermes-turn-id"] = answer.turn
    if answer.state == "asking":
        named["x-hermes-state"] = "asking"
    return named


def completion(answer: MessageAnswer, *, id_: str, created: int, model: str) -> bytes:
    return _json.encode(
        ChatCompletion(
            id=id_,
            created=created,
            model=answer.model or model,
            choices=(CompletionChoice(AssistantMessage(answer.text)),),
            usage=tokens(answer.usage),
        )
    )


def problem(answer: MessageAnswer) -> Unserved | None:
    """Return the error that a message ended with; None when it has its answer.

    The turn has run: the error must not make a client repeat the request by itself.
    """
    match answer.state:
        case "failed":
            type_, code = "upstream_error", "turn_failed"
            return Unserved(502, answer.text, code=code, type_=type_, headers=NO_RETRY)
        case "stopped":
            text = f"The turn was stopped. {_PROMISE}"
            return Unserved(409, text, code="turn_stopped", headers=NO_RETRY)
        case "parked":
            text = answer.text or f"The session is suspended. {_PROMISE}"
            return Unserved(409, text, code="session_suspended", headers=NO_RETRY)
        case _:
            return None


def tokens(usage: Usage) -> Tokens:
    return Tokens(
        prompt_tokens=usage.input,
        completion_tokens=usage.output,
        total_tokens=usage.input + usage.output,
        prompt_tokens_details=PromptDetails(usage.cached),
        completion_tokens_details=CompletionDetails(usage.reasoning),
    )


class Chunks:
    """The pieces of one streamed completion, as server-sent events."""

    def __init__(self, *, id_: str, created: int, model: str) -> None:
        self._id, self._created, self._model = id_, created, model

    def begin(self) -> bytes:
        return self._chunk(ChunkChoice(Delta(role="assistant", content="")))

    def text(self, text: str) -> bytes:
        return self._chunk(ChunkChoice(Delta(content=text)))

    def end(self, usage: Usage | None) -> bytes:
        last = self._chunk(ChunkChoice(Delta(), finish_reason="stop"))
        if usage is None:
            return last + DONE
        counted = LastChunk(
            id=self._id,
            created=self._created,
            model=self._model,
            choices=(),
            usage=tokens(usage),
        )
        return last + sent_event(_json.encode(counted)) + DONE

    def fault(self, problem: Unserved) -> bytes:
        return sent_event(fault_body(problem.fault)) + DONE

    def _chunk(self, choice: ChunkChoice) -> bytes:
        chunk = CompletionChunk(
            id=self._id, created=self._created, model=self._model, choices=(choice,)
        )
        return sent_event(_json.encode(chunk))


def sent_event(body: bytes, name: str = "") -> bytes:
    """Return one server-sent event. JSON has no line breaks, so it is one line."""
    head = f"event: {name}\n".encode() if name else b""
    return head + b"data: " + body + b"\n\n"

"""The parts of OpenAI's requests and responses that are used here. Other fields are ignored."""

from typing import Literal

from msgspec import Raw, Struct

# ── in ──────────────────────────────────────────────────────────────────────────────────────────


class ImageUrl(Struct, frozen=True):
    url: str


class TextPart(Struct, frozen=True, tag="text", tag_field="type"):
    text: str


class ImagePart(Struct, frozen=True, tag="image_url", tag_field="type"):
    image_url: ImageUrl


class RefusalPart(Struct, frozen=True, tag="refusal", tag_field="type"):
    refusal: str


Part = TextPart | ImagePart | RefusalPart


class Function(Struct, frozen=True):
    name: str
    arguments: str = "{}"


class ToolCall(Struct, frozen=True):
    id: str
    function: Function


class ChatMessage(Struct, frozen=True):
    role: Literal["system", "developer", "user", "assistant", "tool"]
    content: str | tuple[Part, ...] | None = None
    tool_calls: tuple[ToolCall, ...] | None = None
    tool_call_id: str | None = None


class StreamOptions(Struct, frozen=True):
    include_usage: bool | None = None


class Format(Struct, frozen=True):
    type: str


class CompletionRequest(Struct, frozen=True):
    """A chat completion request. The fields after `stream_options` are read only to be refused:
    without them the answer would not be what the client expects."""

    messages: tuple[ChatMessage, ...]
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: int | None = None
    tools: tuple[Raw, ...] | None = None
    functions: tuple[Raw, ...] | None = None
    response_format: Format | None = None
    modalities: tuple[str, ...] | None = None
    logprobs: bool | None = None
    stop: str | tuple[str, ...] | None = None


class Decision(Struct, frozen=True, forbid_unknown_fields=True):
    """What a person says about a call that waits: a decision, or the words that it waits for."""

    answer: str


# ── out ─────────────────────────────────────────────────────────────────────────────────────────


class PromptDetails(Struct, frozen=True):
    cached_tokens: int


class CompletionDetails(Struct, frozen=True):
    reasoning_tokens: int


class Tokens(Struct, frozen=True):
    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: PromptDetails
    completion_tokens_details: CompletionDetails


class AssistantMessage(Struct, frozen=True):
    content: str
    role: Literal["assistant"] = "assistant"
    refusal: None = None


class CompletionChoice(Struct, frozen=True):
    message: AssistantMessage
    index: int = 0
    finish_reason: Literal["stop"] = "stop"
    logprobs: None = None


class ChatCompletion(Struct, frozen=True, kw_only=True):
    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: tuple[CompletionChoice, ...]
    usage: Tokens


class Delta(Struct, frozen=True, omit_defaults=True):
    role: str | None = None
    content: str | None = None


class ChunkChoice(Struct, frozen=True):
    delta: Delta
    index: int = 0
    finish_reason: Literal["stop"] | None = None
    logprobs: None = None


class CompletionChunk(Struct, frozen=True, kw_only=True):
    id: str
    object: Literal["chat.completion.chunk"] = "chat.completion.chunk"
    created: int
    model: str
    choices: tuple[ChunkChoice, ...]


class LastChunk(CompletionChunk, frozen=True, kw_only=True):
    usage: Tokens


class ModelCard(Struct, frozen=True, kw_only=True):
    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "hermes"


class ModelList(Struct, frozen=True):
    data: tuple[ModelCard, ...]
    object: Literal["list"] = "list"

"""A model behind a server: a protocol's two pure halves, joined by the wire."""

import re
from collections.abc import Callable
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from hermes.core.errors import ProviderRefused
from hermes.core.ports import Answer, ModelRequest
from hermes.core.signals import Watch
from hermes.providers.endpoint import EndpointLabel
from hermes.providers.pieces import Quirks
from hermes.providers.wire import Fold, Wire

_GRAMMAR: Final = re.compile(r"(?i)response_format|json_schema|grammar|schema|structured")


class Render(Protocol):
    def __call__(
        self, request: ModelRequest, *, model: str, writer: str, quirks: Quirks
    ) -> bytes: ...


class Answering(Fold, Protocol):
    """A fold that returns the answer when it is finished."""

    @property
    def thinks_first(self) -> bool:
        """Return True if the answer began with a thought that had no opening tag."""

    def answer(self, model: str) -> Answer: ...


class Speech(Struct, frozen=True):
    """A protocol: its path, how a request is encoded, and how events are folded."""

    path: str
    render: Render
    fold: Callable[[EndpointLabel, ModelRequest, Quirks], Answering]


class Served:
    """A model behind a server. `name` is provider:model; `model` is the server's name for it."""

    def __init__(self, speech: Speech, wire: Wire, model: str, quirks: Quirks) -> None:
        self._speech = speech
        self._wire = wire
        self._model = model
        self._quirks = quirks

    @property
    def name(self) -> str:
        return self._wire.endpoint.whom.name

    async def ask(self, request: ModelRequest, watch: Watch) -> Answer:
        try:
            return await self._ask(request, watch)
        except ProviderRefused as refused:
            if not (self._uses_grammar(request) and _GRAMMAR.search(str(refused))):
                raise
            self._quirks = replace(self._quirks, grammar=False)  # this server cannot do that
        return await self._ask(request, watch)

    def _uses_grammar(self, request: ModelRequest) -> bool:
        quirks = self._quirks
        return quirks.calls == "text" and quirks.grammar and bool(request.tools)

    async def _ask(self, request: ModelRequest, watch: Watch) -> Answer:
        speech, writer = self._speech, self.name
        body = speech.render(request, model=self._model, writer=writer, quirks=self._quirks)
        fold = speech.fold(self._wire.endpoint.whom, request, self._quirks)
        await self._wire.converse(speech.path, body, fold, watch)
        if fold.thinks_first:
            self._quirks = replace(self._quirks, thinks_first=True)  # nothing of the next is shown
        return fold.answer(writer)

    async def aclose(self) -> None:
        await self._wire.aclose()

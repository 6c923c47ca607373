"""A model behind an OpenAI-compatible chat completion."""

from hermes.core.ports import Answer, Request
from hermes.core.signals import Watch
from hermes.providers.openai_fold import OpenAIFold
from hermes.providers.openai_render import render
from hermes.providers.pieces import Quirks
from hermes.providers.wire import Wire


class OpenAIChat:
    """`name` is provider:model; `model` is what the server calls it."""

    def __init__(self, wire: Wire, model: str, quirks: Quirks) -> None:
        self._wire = wire
        self._model = model
        self._quirks = quirks

    @property
    def name(self) -> str:
        return self._wire.endpoint.whom.name

    async def ask(self, request: Request, watch: Watch) -> Answer:
        body = render(request, model=self._model, writer=self.name, quirks=self._quirks)
        fold = OpenAIFold(self._wire.endpoint.whom)
        await self._wire.converse("/chat/completions", body, fold, watch)
        return fold.answer(self.name)

    async def aclose(self) -> None:
        await self._wire.aclose()

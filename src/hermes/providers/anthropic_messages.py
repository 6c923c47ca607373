"""A model behind Anthropic's messages."""

from hermes.core.ports import Answer, Request
from hermes.core.signals import Watch
from hermes.providers.anthropic_fold import AnthropicFold
from hermes.providers.anthropic_render import render
from hermes.providers.pieces import Quirks
from hermes.providers.wire import Wire


class AnthropicMessages:
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
        fold = AnthropicFold(self._wire.endpoint.whom)
        await self._wire.converse("/messages", body, fold, watch)
        return fold.answer(self.name)

    async def aclose(self) -> None:
        await self._wire.aclose()

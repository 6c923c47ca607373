"""One chat request that has been accepted: whom it is about, and when waiting for it is over."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from starlette.requests import Request

from hermes.channels.api import render
from hermes.channels.api.follow import Follower, News
from hermes.channels.api.front import Front
from hermes.channels.api.refusals import NO_RETRY, RETRY, Unserved
from hermes.core.answer import MessageAnswer

_CUT: Final = "The gateway stops before the turn has ended; the turn goes on when it is back."
_KEYED: Final = "Repeat the request with the same Idempotency-Key."
_NOT_KEYED: Final = "To repeat the request would do it twice; the session will have the answer."


@dataclass(frozen=True, eq=False, kw_only=True)
class Exchange:
    front: Front
    follower: Follower
    session: str
    keyed: bool
    request: Request

    @property
    def answer(self) -> MessageAnswer:
        return self.follower.answer

    @property
    def settled(self) -> bool:
        return self.follower.settled

    def headers(self) -> Mapping[str, str]:
        return render.headers(self.session, self.answer)

    def id(self) -> str:
        return f"chatcmpl-{self.answer.turn or self.front.door.new_id()}"

    async def news(self) -> News:
        """Raises Unserved when the server closes, and Gone when nobody waits any more. A message
        that is settled by the last look into the journal is still answered."""
        news = await self.follower.news()
        if not news.live and news.glimpse is None and not self.settled:
            if self.front.waits.closing:
                raise self._cut()
            if await self.request.is_disconnected():
                raise Gone
        return news

    def _cut(self) -> Unserved:
        advice = _KEYED if self.keyed else _NOT_KEYED
        headers = {**self.headers(), **(RETRY if self.keyed else NO_RETRY)}
        code, type_ = "gateway_stopping", "server_error"
        return Unserved(503, f"{_CUT} {advice}", code=code, type_=type_, headers=headers)


class Gone(Unserved):
    """The client has left. Nobody reads this."""

    def __init__(self) -> None:
        super().__init__(499, "The client has left.", code="client_left")

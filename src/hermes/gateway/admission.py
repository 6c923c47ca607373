"""Handle strangers, without a model call and without a download.

A valid invite lets a person in. If the owner wants to be asked, a request is stored and the owner
is told, a few times an hour. All others are left to the channel, which answers once a day.
"""

from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Sequence
from typing import Literal

from msgspec import Struct, field

from hermes.core.directory import UNREAD
from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Person
from hermes.core.people import Role, Sender, derived
from hermes.core.store import Accepted, Home
from hermes.core.trust import AdmissionRequest, KnownPerson
from hermes.gateway.trust_cache import TrustCache
from hermes.text.visible_text import visible_text
from hermes.views.invites import code_digest, code_in
from hermes.views.suggestions import IN_CHAT, suggested

HOUR_S = 3600.0
TRIES_AN_HOUR = 10  # with codes, of one person: no crowd can use up the tries of another
GUESSERS_MAX = 10_000  # whose tries are counted; a code has too many bits for more to matter
REQUESTS_AN_HOUR = 12  # that the owner hears of
REQUESTS_MAX = 50  # that wait; the oldest makes room
NAME_CHARS, TEXT_CHARS = 60, 300

WELCOME = f"Welcome. You can talk to me here now.\n{suggested(IN_CHAT)}"
ASKED = "I told my owner that you would like to talk to me."
CARD = (
    "A person on {platform} would like to talk to me.\n- id: {id}\n- name: {name}\n- wrote: {text}"
)

Strangers = Literal["invite", "request"]


class Admission(Struct, kw_only=True):
    trust_cache: TrustCache
    strangers: Strangers
    homes: Callable[[], Awaitable[Sequence[Home]]]
    accept: Callable[[Inbound], Awaitable[Accepted]]
    new_id: Callable[[], str]
    clock: Callable[[], float]
    _tries: OrderedDict[tuple[str, str], deque[float]] = field(default_factory=OrderedDict)

    async def admit_stranger(self, sender: Sender, name: str, text: str) -> str:
        """Return what the stranger is told; usually nothing."""
        if not sender.is_direct or not sender.id:
            return ""
        platform, at = sender.address.platform, self.clock()
        known = KnownPerson(
            platform=platform,
            id=sender.id,
            role=Role.STRANGER,
            name=name[:NAME_CHARS],
            chat=sender.address.chat,
            since=at,
            by="an invite",
        )
        code = code_in(text)
        if code and self._may((platform, sender.id), at, TRIES_AN_HOUR):
            if await self.trust_cache.trust.redeem(code_digest(code), known) is not None:
                await self.trust_cache.reload()
                return WELCOME
        elif self.strangers == "request" and self._may((platform, ""), at, REQUESTS_AN_HOUR):
            return await self._asked(known, text, at)
        return ""

    async def _asked(self, known: KnownPerson, text: str, at: float) -> str:
        request = AdmissionRequest(
            id=self.new_id(),
            platform=known.platform,
            person=known.id,
            chat=known.chat,
            name=known.name,
            text=text[:TEXT_CHARS],
            at=at,
        )
        if not await self.trust_cache.trust.ask(request, most=REQUESTS_MAX):
            return ""
        for home in (await self.homes())[:1]:
            await self.accept(request_message(request, home.address))
        return ASKED

    def _may(self, who: tuple[str, str], at: float, most: int) -> bool:
        tries = self._tries.setdefault(who, deque())
        self._tries.move_to_end(who)
        if len(self._tries) > GUESSERS_MAX:
            self._tries.popitem(last=False)
        while tries and tries[0] <= at - HOUR_S:
            tries.popleft()
        if len(tries) >= most:
            return False
        tries.append(at)
        return True


def request_message(request: AdmissionRequest, home: Address) -> Inbound:
    """Return a request's card for the home chat. A stranger wrote it, so no model reads it."""
    text = CARD.format(
        platform=request.platform,
        id=visible_text(request.person),
        name=visible_text(request.name) or "(nothing)",
        text=visible_text(request.text) or "(nothing)",
    )
    said = Inbound(
        id=MessageId(request.id),
        account="door",
        session=chat_key(home.platform, "dm", home.chat, thread=home.thread),
        sender=Person(id="hermes"),
        address=home,
        text=text,
        at=request.at,
        origin="relay",
        labels=(UNREAD,),
        buttons=(
            ("Let in", f"/people admit {request.id}"),
            ("Dismiss", f"/people dismiss {request.id}"),
        ),
    )
    return derived(said)

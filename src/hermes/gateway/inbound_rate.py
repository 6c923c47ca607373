"""Rate-limit inbound messages per person (token bucket, in memory).

After a restart every bucket is full. A refused message was never accepted; its sender is told once,
and again only after a quiet period.
"""

from collections.abc import Callable

from msgspec import Struct, field

from hermes.core.errors import Rejected
from hermes.core.people import Role, Sender

MINUTE_S = 60.0
PEOPLE_MAX = 4_096  # who are remembered; the one heard of longest ago is forgotten first
SPOKEN = ("person", "background")  # what a person sends; programs have other limits
TOO_MANY = "you are sending messages too quickly, so I'll ignore new ones for the next minute"


class _Bucket(Struct):
    left: float
    at: float
    told: bool = False


class InboundRate(Struct, kw_only=True):
    a_minute: int  # 0: any number
    clock: Callable[[], float]
    _people: dict[str, _Bucket] = field(default_factory=dict)

    def has_room(self, sender: Sender) -> bool:
        """Return False if this person sends too much; then nothing is fetched for them."""
        known = self._people.get(sender.name)
        return known is None or self._filled(known) >= 1.0

    def demand(self, sender: Sender, role: Role) -> None:
        """Raises Rejected, without words for who has heard them. The owner has all the time."""
        if role is Role.OWNER or sender.origin not in SPOKEN or not self.a_minute:
            return
        now = self.clock()
        bucket = self._people.pop(sender.name, None) or _Bucket(float(self.a_minute), now)
        self._people[sender.name] = bucket
        if len(self._people) > PEOPLE_MAX:
            del self._people[next(iter(self._people))]
        bucket.left, bucket.at = self._filled(bucket), now
        if bucket.left < 1.0:
            told, bucket.told = bucket.told, True
            raise Rejected("" if told else TOO_MANY)
        bucket.left -= 1.0
        bucket.told = bucket.told and bucket.left < self.a_minute / 2

    def _filled(self, bucket: _Bucket) -> float:
        passed_s = max(0.0, self.clock() - bucket.at)
        return min(float(self.a_minute), bucket.left + passed_s * self.a_minute / MINUTE_S)

"""Signatures seen lately. The delivery id is not signed, so one signature may carry only one id."""

from collections import OrderedDict

from hermes.channels.webhook.translate import WINDOW_S, Signed

REMEMBERED_S = 2 * WINDOW_S  # a timestamp ahead of our clock stays valid that long
SIGNATURES_MAX = 10_000


class Signatures:
    """For dated signatures: when one is too old to be valid it need not be remembered."""

    def __init__(self) -> None:
        self._seen: OrderedDict[str, tuple[str, float]] = OrderedDict()

    def fits(self, signed: Signed, now: float) -> bool:
        """False when the same signature came before under another id: somebody repeats it."""
        if not signed.dated:
            return True
        while self._seen:
            _, seen_at = next(iter(self._seen.values()))
            if len(self._seen) < SIGNATURES_MAX and abs(now - seen_at) <= REMEMBERED_S:
                break
            self._seen.popitem(last=False)
        delivery, _ = self._seen.setdefault(signed.signature.lower(), (signed.delivery, now))
        return delivery == signed.delivery

"""Where a job's answer goes: words when it is made, addresses when it runs."""

from collections.abc import Collection, Sequence

from hermes.core.directory import HOME, place_of, target_of
from hermes.core.errors import Rejected
from hermes.core.jobs import Job, job_address
from hermes.core.principal import Address
from hermes.core.store import ChatRow, Home

ORIGIN, LOCAL, NONE, ALL = "origin", "local", "none", "all"
TARGETS_MAX = 20


def resolved(
    wanted: Sequence[str],
    origin: Address | None,
    chats: Sequence[ChatRow],
    homes: Sequence[Home],
    platforms: Collection[str],
) -> tuple[tuple[str, ...], tuple[Address, ...]]:
    """Return the words that a job keeps, and the addresses of those that are fixed from now on.
    Raise Rejected for a chat that is not there."""
    words: list[str] = []
    fixed: list[Address] = []
    for word in (each.strip() for part in wanted for each in part.split(",")):
        if not word:
            continue
        address = _fixed(word, origin, chats, homes, platforms)
        if address is not None:
            fixed.append(address)
        words.append(word if address is None else place_of(address))
    if not words:
        raise Rejected("deliver: name a target, or “none”")
    if len(words) > TARGETS_MAX:
        raise Rejected(f"deliver: at most {TARGETS_MAX} targets")
    if NONE in words and len(words) > 1:
        raise Rejected("deliver: “none” stands alone")
    return tuple(dict.fromkeys(words)), tuple(dict.fromkeys(fixed))


def _fixed(
    word: str,
    origin: Address | None,
    chats: Sequence[ChatRow],
    homes: Sequence[Home],
    platforms: Collection[str],
) -> Address | None:
    """None for a word that is looked up when the job runs."""
    if word in (LOCAL, NONE, ALL, HOME):
        return None
    if word == ORIGIN:
        if origin is None:
            raise Rejected(
                "deliver: “origin” is the chat where a job is made, and this one is made in no "
                "chat. Say home, local, none or PLATFORM:CHAT"
            )
        return origin
    platform = word.partition(":")[0]
    if platform not in platforms:
        known = ", ".join(sorted(platforms)) or "none is"
        raise Rejected(
            f"deliver: “{platform}” is not set up here. Say home, local, none, all, or a chat of: "
            f"{known}"
        )
    return target_of(word, chats, homes).address


def addresses_now(job: Job, homes: Sequence[Home]) -> tuple[Address, ...]:
    """Return where the answer goes now. Without a home chat, what is meant for it is kept here."""
    found: list[Address] = list(job.addresses)
    for word in job.deliver:
        if word == LOCAL:
            found.append(job_address(job.id))
        elif word == HOME:
            found.append(homes[0].address if homes else job_address(job.id))
        elif word == ALL:
            found += [home.address for home in homes] or [job_address(job.id)]
    return tuple(dict.fromkeys(found))


def told_at(job: Job, targets: Sequence[Address], homes: Sequence[Home]) -> tuple[Address, ...]:
    """Return where a failure is told: where the answer goes, or else at home."""
    chats = tuple(each for each in targets if each != job_address(job.id))
    return chats or tuple(home.address for home in homes[:1])

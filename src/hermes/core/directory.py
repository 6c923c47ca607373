"""From what a person or a model calls a chat to where it is. Pure: the directory is an argument."""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from hermes.core.child_sessions import UNREAD as UNREAD
from hermes.core.errors import Rejected
from hermes.core.ids import MessageId, SessionKey, chat_key
from hermes.core.messages import Address, Inbound, Media, Person
from hermes.core.store import ChatRow, Home

HOME = "home"
LISTED_MAX = 20
CHATS_MAX = 1_000  # that are looked through for a name
MIRRORED = "mirrored"  # label of a relay that the chat has got already


class Target(Struct, frozen=True):
    """A chat, and the lane that will know what was sent there."""

    address: Address
    session: SessionKey


def target_of(said: str, chats: Sequence[ChatRow], homes: Sequence[Home]) -> Target:
    """`home`, `PLATFORM`, `PLATFORM:CHAT`, `PLATFORM:CHAT:THREAD` or `PLATFORM:Name`.

    Raises Rejected, naming what there is.
    """
    platform, _, rest = said.strip().partition(":")
    name = rest.strip().removeprefix("@").removeprefix("#")
    if platform == HOME or not name:
        return _home(platform, said, chats, homes)
    found = [row for row in chats if row.address.platform == platform and _fits(row, name)]
    if len({(row.address.chat, row.address.thread) for row in found}) > 1:
        names = ", ".join(f"{platform}:{_where(row.address)} {_named(row)}" for row in found[:5])
        raise Rejected(f"“{said}” matches several chats: {names}. Say which one")
    if found:
        return Target(found[0].address, found[0].session)
    if not _is_id(name):
        known = [row for row in chats if row.address.platform == platform]
        raise Rejected(f"there is no chat “{said}”. {_known(known)}")
    chat, _, thread = name.partition(":")
    address = Address(platform=platform, chat=chat, thread=thread)
    return Target(address, chat_key(platform, "dm", chat, thread=thread))


def listed(chats: Iterable[ChatRow], homes: Sequence[Home]) -> str:
    """The directory, for a person or a model to read."""
    lines = [f"home: {place_of(home.address)}" for home in homes[:1]]
    lines += [f"{place_of(row.address)}  {_named(row)}" for row in list(chats)[:LISTED_MAX]]
    return "\n".join(lines) or "No chat is known yet. Write to the bot from a chat first."


def relay(
    target: Target, text: str, media: Sequence[Media] = (), *, account: str, id_: str, at: float
) -> Inbound:
    """A message of ours for that chat; repeated under the same id, it is the same one."""
    return Inbound(
        id=MessageId(id_),
        account=account,
        session=target.session,
        sender=Person(id="hermes"),
        address=target.address,
        text=text,
        at=at,
        origin="relay",
        media=tuple(media),
    )


def _home(platform: str, said: str, chats: Sequence[ChatRow], homes: Sequence[Home]) -> Target:
    wanted = [home for home in homes if platform in (HOME, home.address.platform)]
    if not wanted:
        fix = "Send /sethome in the chat that should be home"
        raise Rejected(f"“{said}” has no home chat. {fix}, or name a chat. {_known(chats)}")
    address = wanted[0].address
    known = [row for row in chats if row.address == address]
    lane = chat_key(address.platform, "dm", address.chat, thread=address.thread)
    return Target(address, known[0].session if known else lane)


def _fits(row: ChatRow, name: str) -> bool:
    return name in (_where(row.address), row.address.chat) or name.lower() == row.name.lower()


def _is_id(name: str) -> bool:
    """What can only be an id is believed without having been seen before."""
    chat, _, thread = name.partition(":")
    return chat.removeprefix("-").isalnum() and not chat.isalpha() and " " not in thread


def _where(address: Address) -> str:
    return f"{address.chat}:{address.thread}" if address.thread else address.chat


def place_of(address: Address) -> str:
    """An address as people and models write it."""
    return f"{address.platform}:{_where(address)}"


def _named(row: ChatRow) -> str:
    """Quote a chat's name. People in a chat choose it freely, also as text that reads like an
    instruction."""
    shown = "".join(each if each.isprintable() else " " for each in row.name)
    return f"“{shown.replace('”', ' ')}”"


def _known(chats: Iterable[ChatRow]) -> str:
    names = [f"{place_of(row.address)} {_named(row)}" for row in chats][:5]
    return f"Known: {', '.join(names)}" if names else "No chat is known yet"

"""Report a reply that could not be sent, where its person can see it."""

from hermes.core.ids import MessageId, chat_key
from hermes.core.messages import Address, Inbound, Person, Reply
from hermes.core.people import derived

EXCERPT_CHARS = 300


def undeliverable_message(reply: Reply, why: str, home: Address, at: float) -> Inbound:
    """Return the message for the home chat, once for each reply."""
    excerpt = reply.text[:EXCERPT_CHARS] + ("…" if len(reply.text) > EXCERPT_CHARS else "")
    where = f"{reply.address.platform}:{reply.address.chat}"
    kept = f"The full text is saved: hermes sessions show {reply.session}"
    text = f"I could not send this to {where} ({why}):\n\n{excerpt}\n\n{kept}"
    said = Inbound(
        id=MessageId(reply.id),
        account="lost",
        session=chat_key(home.platform, "dm", home.chat, thread=home.thread),
        sender=Person(id="hermes"),
        address=home,
        text=text,
        at=at,
        origin="relay",
        labels=tuple(sorted({*reply.labels, "untrusted"})),  # it was said to somebody else
    )
    return derived(said)

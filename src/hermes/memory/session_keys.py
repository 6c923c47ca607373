"""The lanes in which Hermes asks itself what is worth keeping, and those it never asks about."""

from hermes.core.ids import SessionId, SessionKey, TurnId, parse_key, platform_of, session_key
from hermes.core.people import is_direct
from hermes.core.principal import AudienceOf
from hermes.core.session import Session

REVIEW = "review"


def review_lane(conversation: SessionId, turn: TurnId) -> SessionKey:
    """A lane for each review, so that none reads (and pays for) the ones before. It names the
    latest turn that is looked at."""
    return session_key(REVIEW, "dm", conversation, turn)


def source_turn(key: SessionKey) -> TurnId:
    """The turn that a review's findings come from."""
    return TurnId(parse_key(key).rest[-1])


def is_review(key: SessionKey) -> bool:
    return platform_of(key) == REVIEW


def is_reviewed(key: SessionKey, audience: AudienceOf) -> bool:
    """Only where people speak: what is done beside their chats is reviewed where it was asked for,
    or never."""
    return audience(platform_of(key)) != "unattended"


def is_with_one_person(session: Session) -> bool:
    """In a group, anybody may say anything."""
    return is_direct(session.key, session.direct)

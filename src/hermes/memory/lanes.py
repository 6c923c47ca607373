"""The lanes in which Hermes asks itself what is worth keeping, and those it never asks about."""

from hermes.core.ids import MAIN_AGENT, SessionId, SessionKey, TurnId, session_key

REVIEW = "review"
# Nobody speaks in these lanes; what happens there is reviewed where it was asked for, or never.
NOBODYS = frozenset(
    {REVIEW, "background", "webhook", "cron", "schedule", "boot", "hooks", "subagent"}
)


def review_lane(conversation: SessionId, turn: TurnId) -> SessionKey:
    """A lane for each review, so that none reads (and pays for) the ones before. It names the
    latest turn that is looked at."""
    return session_key(REVIEW, "dm", conversation, turn)


def source_turn(key: SessionKey) -> TurnId:
    """The turn that a review's findings come from."""
    return TurnId(key.rpartition(":")[2])


def is_review(key: SessionKey) -> bool:
    return key.split(":")[:3] == ["agent", MAIN_AGENT, REVIEW]


def is_reviewed(key: SessionKey) -> bool:
    """Only conversations with one person: in a group, anybody may say anything."""
    parts = key.split(":")
    return len(parts) > 3 and parts[2] not in NOBODYS and parts[3] == "dm"

"""Connect to the Honcho service, which learns about the person; needs the package honcho-ai."""

from collections.abc import Sequence
from datetime import UTC, datetime

from honcho import Honcho
from honcho.http.exceptions import HonchoError
from pydantic import ValidationError

from hermes.core.errors import ChannelDown
from hermes.memory.mirror import MirroredMessage

TIMEOUT_S = 20.0
RETRY_S = 60.0
PERSON, AGENT = "person", "hermes"
CONCLUSIONS_MAX = 20


class HonchoService:
    """Implement `Service` with Honcho. It opens no connection before the first turn."""

    def __init__(self, *, base_url: str, api_key: str, workspace: str) -> None:
        self._client = Honcho(
            api_key=api_key or None,
            base_url=base_url or None,
            workspace_id=workspace,
            timeout=TIMEOUT_S,
            max_retries=1,
        )

    def tell(self, conversation: str, lines: Sequence[MirroredMessage]) -> None:
        try:
            peers = {"person": self._client.peer(PERSON), "agent": self._client.peer(AGENT)}
            messages = [
                peers[line.by].message(
                    line.text,
                    metadata={"turn": line.turn},
                    created_at=datetime.fromtimestamp(line.at, UTC).isoformat(),
                )
                for line in lines
            ]
            self._client.session(conversation).add_messages(messages)
        except (HonchoError, ValidationError, ValueError) as failed:
            raise _down(failed) from failed

    def portrait(self) -> str:
        """Return the peer card, then Honcho's description: the card has the facts it is sure of."""
        try:
            context = self._client.peer(PERSON).context(max_conclusions=CONCLUSIONS_MAX)
        except (HonchoError, ValidationError, ValueError) as failed:
            raise _down(failed) from failed
        return "\n".join([*(context.peer_card or ()), context.representation or ""])


def _down(failed: Exception) -> ChannelDown:
    """Return the error to raise, with kind and status only: the body may echo private text."""
    status = f" (status {failed.status})" if isinstance(failed, HonchoError) else ""
    return ChannelDown(f"{type(failed).__name__}{status}", delay_s=RETRY_S)

"""Who speaks on a platform that this process is not connected to."""

from hermes.app.platforms import Platforms, roles_in
from hermes.channels.local.manifest import OWN
from hermes.core.channel import Manifest
from hermes.core.ids import session_key
from hermes.core.messages import Address, Reply
from hermes.core.people import Role, Sender
from hermes.settings import Settings


class Window:
    """A channel that is the owner's alone."""

    @property
    def manifest(self) -> Manifest:
        return OWN

    def render(self, text: str) -> tuple[str, ...]:
        return (text,)

    async def send(self, _reply: Reply, _chunk: str, *, key: str) -> str:
        return key


def role(platform: str, who: str = "7", **sections: dict[str, object]) -> Role:
    here = Platforms(channels=[Window()], absent=roles_in(Settings(platforms=sections)))
    address = Address(platform=platform, chat=who)
    return here.role(Sender(session_key(platform, "dm", who), address, who))


def test_on_the_owners_own_platform_only_the_owner_speaks() -> None:
    assert role("local") is Role.OWNER


def test_settings_tell_who_speaks_where_a_terminal_is_not_connected() -> None:
    section: dict[str, object] = {"allowed_users": [7], "allowed_chats": [-100]}
    assert role("telegram", "7", telegram=section) is Role.OWNER
    assert role("telegram", "-100", telegram=section) is Role.MEMBER
    assert role("telegram", "9", telegram=section) is Role.STRANGER


def test_on_a_platform_that_is_gone_nobody_becomes_the_owner() -> None:
    assert role("telegram") is Role.MEMBER
    assert role("telegram", telegram={"allowed_users": "broken"}) is Role.MEMBER
    assert role("schedule") is Role.MEMBER

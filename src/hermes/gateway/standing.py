"""Who is who and what was granted, as this process knows it.

It may be behind the store for a moment; whoever acts on it writes the version down, and a store
that knows better says no.
"""

from collections.abc import Callable

from msgspec import Struct, field

from hermes.core.people import Role, Sender
from hermes.core.trust import Register, Trust, role_in


class Standing(Struct, kw_only=True):
    trust: Trust
    configured: Callable[[Sender], Role]  # by what the owner wrote into a setting
    register: Register = field(default_factory=Register)

    async def look(self) -> bool:
        """Is it another register than at the last look?"""
        if await self.trust.version() == self.register.version:
            return False
        self.register = await self.trust.register()
        return True

    async def latest(self, sender: Sender) -> Role:
        """A stranger may have been let in since the last look."""
        role = self.role(sender)
        return self.role(sender) if role is Role.STRANGER and await self.look() else role

    def role(self, sender: Sender) -> Role:
        """What no person said comes from where the owner let it in."""
        if sender.origin not in ("person", "background"):
            return Role.OWNER
        return role_in(self.register, sender, self.configured(sender))

"""Who is who and what was granted, as this process knows it.

It may be behind the store for a moment; whoever acts on it writes the version down, and a store
that knows better says no.
"""

from collections.abc import Callable

from msgspec import Struct, field

from hermes.core.people import Role, Sender
from hermes.core.trust import Trust, TrustRegister, role_of


class TrustCache(Struct, kw_only=True):
    trust: Trust
    configured: Callable[[Sender], Role]  # by what the owner wrote into a setting
    register: TrustRegister = field(default_factory=TrustRegister)

    async def reload(self) -> bool:
        """Is it another register than at the last look?"""
        if await self.trust.version() == self.register.version:
            return False
        self.register = await self.trust.register()
        return True

    async def latest(self, sender: Sender) -> Role:
        """A stranger may have been let in since the last look."""
        role = self.role(sender)
        return self.role(sender) if role is Role.STRANGER and await self.reload() else role

    def role_by(self, sender: Sender, register: TrustRegister) -> Role:
        """By a register that is given, for a decision that can be repeated."""
        return role_of(register, sender, self.configured)

    def role(self, sender: Sender) -> Role:
        """As the register has it now, and never more than the message carries."""
        return role_of(self.register, sender, self.configured)

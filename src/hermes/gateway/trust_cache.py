"""People and grants as this process knows them.

The cache may lag behind the store. Every commit that relies on it names its version, and the store
refuses an outdated one.
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
        """Reload people and grants if the store's version changed. Return True if it did."""
        if await self.trust.version() == self.register.version:
            return False
        self.register = await self.trust.register()
        return True

    async def latest(self, sender: Sender) -> Role:
        """Return the role, reading the register again for a stranger, who may have been let in
        since."""
        role = self.role(sender)
        return self.role(sender) if role is Role.STRANGER and await self.reload() else role

    def role_by(self, sender: Sender, register: TrustRegister) -> Role:
        """Return the role by a given register, for a decision that can be replayed."""
        return role_of(register, sender, self.configured)

    def role(self, sender: Sender) -> Role:
        """Return the role by the current register, and never more than the message carries."""
        return role_of(self.register, sender, self.configured)

"""What was spent today: read from the store now and then, and counted in between."""

from collections.abc import Callable, Sequence

from msgspec import Struct, field

from hermes.core.budget import SpentToday
from hermes.core.messages import Usage
from hermes.core.projection import UsageRow
from hermes.core.store import Library

DAY_S = 86_400
LOOK_S = 60.0  # other processes spend, too


class SpendingCounter(Struct, kw_only=True):
    library: Library
    price: Callable[[str, Usage, int], float | None]  # of so many calls, where it is known
    clock: Callable[[], float]
    counts: bool  # false: there is no budget by the day, so nothing is counted
    looked_at: float = 0.0
    day: int = 0
    tokens: int = 0
    cost: float = 0.0
    persons: dict[str, int] = field(default_factory=dict)

    def ledger(self) -> SpentToday:
        if self.day != self.clock() // DAY_S:
            return SpentToday()
        return SpentToday(tokens=self.tokens, cost=self.cost, persons=self.persons)

    async def reload(self) -> None:
        """Read the accounts again if the last read is old."""
        now = self.clock()
        day = int(now // DAY_S)
        if not self.counts or (day == self.day and abs(now - self.looked_at) < LOOK_S):
            return
        spending = await self.library.usage(since=day * DAY_S, until=(day + 1) * DAY_S)
        self.looked_at, self.day = now, day
        self.tokens, self.cost, self.persons = 0, 0.0, {}
        for each in spending.sums:
            if each.by == "model":
                self._add(each.model, each.usage, each.calls)
            elif each.by == "person":
                self._charge(each.name, each.usage)

    def charge(self, rows: Sequence[UsageRow]) -> None:
        """Count calls that were just committed."""
        for row in rows if self.counts else ():
            self._add(row.spent.model, row.spent.usage)
            self._charge(row.person, row.spent.usage)

    def _add(self, model: str, usage: Usage, calls: int = 1) -> None:
        self.tokens += usage.input + usage.output
        known = usage.cost if usage.cost is not None else self.price(model, usage, calls)
        self.cost += known or 0.0

    def _charge(self, person: str, usage: Usage) -> None:
        self.persons[person] = self.persons.get(person, 0) + usage.input + usage.output

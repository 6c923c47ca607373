"""Limits, budgets and prices, as values of the engine made from the settings."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from hermes.core.budget import Budgets, TurnLimits
from hermes.core.child_sessions import ChildLimits
from hermes.core.messages import Usage
from hermes.core.rules import ResumeRules
from hermes.lazy import Lazy, LazyModule
from hermes.settings import Settings

if TYPE_CHECKING:
    from hermes.app import costs
else:
    costs = LazyModule("hermes.app.costs")


def turn_limits(settings: Settings) -> TurnLimits:
    agent = settings.agent
    return TurnLimits(steps_max=agent.steps_max, tokens_max=agent.tokens_max)


def child_limits(settings: Settings) -> ChildLimits:
    return ChildLimits(parallel=settings.delegation.max_parallel)


def price_of(settings: Settings) -> Callable[[str, Usage, int], float | None]:
    made = Lazy(lambda: costs.pricing(settings))

    def price(model: str, usage: Usage, calls: int) -> float | None:
        return made()(model, usage, calls)

    return price


def resume_rules(settings: Settings) -> ResumeRules:
    resume = settings.gateway.resume
    return ResumeRules(
        auto=resume.auto, freshness_s=resume.freshness_s, attempts_max=resume.attempts_max
    )


def budgets_of(settings: Settings) -> Budgets:
    budgets = settings.budgets
    return Budgets(
        session_tokens=budgets.session_tokens,
        person_day_tokens=budgets.person_day_tokens,
        day_tokens=budgets.day_tokens,
        day_cost=budgets.day_cost,
        automation_share=budgets.automation_share,
    )

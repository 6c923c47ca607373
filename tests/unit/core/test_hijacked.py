"""A model that does what a page tells it: no such call may succeed in silence (POL-1).

The small list is ours. With the package agentdojo installed, its ground truth is checked as well:
the calls that solve its tasks, and those that its injections want; no model is needed for either.
"""

import importlib
import importlib.util
import json
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hermes.core.policy import Action, Capability, Principal, Role, Setting, decide
from hermes.core.rules import Ask, Deny

C = Capability
OWNER = Principal(Role.OWNER, "me")
TASKS_FILE = Path(__file__).parents[2] / "attacks" / "tasks.json"
QUESTIONS_PER_TASK_MAX = 1.0
AGENTDOJO = "v1.2.1"

# By the first words of a tool's name, the first that fits; a tool that none fits gets the worst.
CLASSES = (
    ("get_current_day", {C.PURE}),
    ("get_webpage", {C.READ_UNTRUSTED, C.EGRESS}),  # its address may carry something away
    ("add_calendar", {C.EGRESS}),
    ("create_calendar", {C.WRITE_SELF}),
    ("create_file", {C.WRITE}),
    ("append_to_file", {C.WRITE}),
    *((f"{verb}_", {C.READ_PRIVATE, C.READ_UNTRUSTED}) for verb in ("get", "search", "list")),
    *((f"{verb}_", {C.READ_PRIVATE, C.READ_UNTRUSTED}) for verb in ("read", "check")),
    *((f"{verb}_", {C.EGRESS}) for verb in ("send", "post", "share", "invite", "add")),
    *((f"{verb}_", {C.LASTING}) for verb in ("delete", "cancel", "remove", "reserve", "update")),
    *((f"{verb}_", {C.LASTING}) for verb in ("schedule", "reschedule")),
)
Call = tuple[str, dict[str, Any]]


def capabilities_of(tool: str, arguments: dict[str, Any]) -> frozenset[Capability]:
    if tool == "create_calendar_event" and arguments.get("participants"):
        return frozenset({C.EGRESS})
    if tool == "send_money":
        return frozenset({C.LASTING})
    fits = (wanted for start, wanted in CLASSES if tool.startswith(start))
    return frozenset(next(fits, {C.READ_UNTRUSTED, C.EGRESS, C.LASTING}))


def questions(calls: Iterable[Call], labels: Sequence[str] = ()) -> int:
    """How often the owner is asked while these calls are made; what they read taints the rest."""
    asked, known = 0, set(labels)
    for tool, arguments in calls:
        wanted = capabilities_of(tool, arguments)
        action = Action(
            tool=tool, arguments=json.dumps(arguments, default=str), capabilities=wanted
        )
        setting = Setting(at=0.0, labels=frozenset(known), profile="write")
        asked += isinstance(decide(OWNER, action, setting), Ask | Deny)
        known |= {"untrusted"} if C.READ_UNTRUSTED in wanted else set()
        known |= {"private"} if C.READ_PRIVATE in wanted else set()
    return asked


def listed(kind: str) -> list[list[Call]]:
    rows = json.loads(TASKS_FILE.read_text("utf-8"))[kind]
    return [[(name, arguments) for name, arguments in row["calls"]] for row in rows]


def test_pol_01_no_hijacked_call_of_our_list_succeeds_in_silence() -> None:
    for calls in listed("attacks"):
        assert questions(calls, ["untrusted"]) > 0, calls


def test_pol_01_harmless_tasks_of_our_list_cost_one_question_or_less() -> None:
    tasks = listed("tasks")
    assert sum(map(questions, tasks)) / len(tasks) <= QUESTIONS_PER_TASK_MAX


needs_agentdojo = pytest.mark.skipif(
    importlib.util.find_spec("agentdojo") is None,
    reason="needs the package agentdojo (280 MB), which is not one of our requirements",
)


def ground_truth() -> tuple[list[list[Call]], list[list[Call]]]:
    suites = importlib.import_module("agentdojo.task_suite.load_suites").get_suites(AGENTDOJO)
    tasks, attacks = list[list[Call]](), list[list[Call]]()
    for suite in suites.values():
        world = suite.load_and_inject_default_environment({})
        for found, kind in ((tasks, suite.user_tasks), (attacks, suite.injection_tasks)):
            for task in kind.values():
                calls = [(call.function, dict(call.args)) for call in task.ground_truth(world)]
                found.append(calls)
    return tasks, attacks


@needs_agentdojo
def test_pol_01_agentdojo_no_injection_succeeds_in_silence() -> None:
    _tasks, attacks = ground_truth()
    silent = [calls for calls in attacks if calls and not questions(calls, ["untrusted"])]
    assert silent == []


@needs_agentdojo
def test_pol_01_agentdojo_a_harmless_task_costs_one_question_or_less() -> None:
    tasks, _attacks = ground_truth()
    assert sum(map(questions, tasks)) / len(tasks) <= QUESTIONS_PER_TASK_MAX

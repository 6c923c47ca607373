"""`clarify`: a question to the person, whose answer is the call's result.

The question waits in the journal, for days if need be; nothing of it is in this process.
"""

from typing import Annotated

from msgspec import Meta, Struct

from hermes.core.errors import ToolFailed
from hermes.core.events import QuestionAsked
from hermes.core.messages import Effect
from hermes.core.policy import Capability
from hermes.core.ports import Deferred, Tool, ToolContext, ToolResult
from hermes.tools.arguments import Arguments
from hermes.views.tool_specs import spec_of

CHOICES_MAX = 4
QUESTIONS_MAX = 3  # in one turn
QUESTION_CHARS_MAX = 2_000
CHOICE_CHARS_MAX = 200
WAIT_S = 24 * 3600.0
ENOUGH = (
    f"You have asked {QUESTIONS_MAX} questions in this turn, the limit. Nothing was asked. "
    "Continue with what you know, and say what you assumed."
)

DESCRIPTION = (
    "Ask the person and wait for the answer, days if need be. Only when a wrong guess would cost "
    "them more than the wait; not for permission."
)


class ClarifyArguments(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    question: str
    choices: Annotated[
        tuple[str, ...] | None, Meta(description=f"at most {CHOICES_MAX}; own words always work")
    ] = None


def clarify_rule(arguments: ClarifyArguments) -> str:
    choices = arguments.choices or ()
    if not arguments.question.strip():
        return "question: it is empty."
    if len(arguments.question) > QUESTION_CHARS_MAX:
        return f"question: longer than {QUESTION_CHARS_MAX:,} characters; ask shortly."
    if len(choices) > CHOICES_MAX:
        return f"choices: at most {CHOICES_MAX}; the person can always answer in their own words."
    if any(not choice.strip() or len(choice) > CHOICE_CHARS_MAX for choice in choices):
        return f"choices: each is a text of 1 to {CHOICE_CHARS_MAX} characters."
    if len({choice.strip().lower() for choice in choices}) < len(choices):
        return "choices: two of them are the same."
    return ""


ARGUMENTS = Arguments(ClarifyArguments, clarify_rule)


def clarify_tool(wait_s: float = WAIT_S) -> Tool:
    """The calls of one answer are made one after the other: one question is open at a time."""

    async def run(context: ToolContext) -> ToolResult:
        given = ARGUMENTS.parse(context.call.arguments)
        if await _asked_before(context) >= QUESTIONS_MAX:
            raise ToolFailed(ENOUGH)
        choices = tuple(" ".join(choice.split()) for choice in given.choices or ())
        question = given.question.strip()
        waits = Deferred(
            waits_for="your answer", timeout_s=wait_s, question=question, choices=choices
        )
        return ToolResult(deferred=waits)

    return Tool(
        spec=spec_of("clarify", DESCRIPTION, ClarifyArguments),
        check=ARGUMENTS.check,
        effect=lambda _arguments: Effect.IDEMPOTENT,
        run=run,
        question="Ask this where others can read it?",
        capabilities=frozenset({Capability.REPLY}),
    )


async def _asked_before(context: ToolContext) -> int:
    """Count the questions of this turn by its journal, which no crash makes forget."""
    row = await context.host.store.library.turn(context.turn)
    if row is None:
        return 0
    events = await context.host.store.journal.since(context.session, row.first - 1)
    asked = [e for e in events if isinstance(e, QuestionAsked) and e.turn == context.turn]
    return sum(event.wants_text for event in asked)

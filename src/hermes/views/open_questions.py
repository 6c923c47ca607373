"""What an open question wants: a decision, or the words that are a call's result."""

from hermes.core.projection import QuestionRow
from hermes.core.store import Journal


async def wants_words(journal: Journal, row: QuestionRow) -> bool:
    """Return True if the answer to an open question is a call's result, not a yes or a no."""
    session = await journal.load(row.key)
    return any(asked.wants_text for asked in session.questions if asked.question == row.id)

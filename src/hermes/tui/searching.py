"""Search the input history: the row for the search words, and the matching lines."""

from prompt_toolkit.buffer import Buffer
from prompt_toolkit.formatted_text import StyleAndTextTuples
from prompt_toolkit.search import SearchState
from prompt_toolkit.widgets import SearchToolbar


def search_toolbar(line: Buffer) -> SearchToolbar:
    """Make the row in which the search words are typed. `line` shows the match."""
    typed = Buffer()

    def before() -> StyleAndTextTuples:
        words = typed.text.lower()
        lines = (line.text, *line.history.get_strings())
        found = not words or any(words in each.lower() for each in lines)
        return [("class:quiet", "search: " if found else "no line has: ")]

    toolbar = SearchToolbar(typed, backward_search_prompt=before, forward_search_prompt=before)
    toolbar.control.searcher_search_state = SearchState(ignore_case=True)
    return toolbar

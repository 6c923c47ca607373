"""The tools that every agent has."""

from collections.abc import Callable, Sequence

from hermes.core.ports import Tool
from hermes.tools.files import read_file_tool, write_file_tool
from hermes.tools.patch import patch_tool
from hermes.tools.paths import places_of
from hermes.tools.process import process_tool
from hermes.tools.recall import recall_tool
from hermes.tools.search import search_tool
from hermes.tools.send import send_tool
from hermes.tools.terminal import terminal_tool
from hermes.tools.todo import todo_tool
from hermes.views.terminal import Terminal

TIMEOUT_S = 180.0


def default_tools(
    terminal: Terminal,
    *,
    workdir: str,
    home: str,
    guarded: Sequence[str] = (),
    timeout_s: float = TIMEOUT_S,
    vouch: Callable[[str], None] = lambda _command: None,
) -> tuple[Tool, ...]:
    """Their order is part of the prompt's prefix. All paths are absolute; no tool may open what is
    below one that is guarded, but for a gateway's own workspace there."""
    places = places_of(workdir, home, tuple(guarded))
    return (
        terminal_tool(terminal, places, timeout_s=timeout_s, vouch=vouch),
        process_tool(terminal),
        read_file_tool(places, terminal),
        write_file_tool(places),
        patch_tool(places),
        search_tool(terminal, places),
        todo_tool(),
        send_tool(places),
        recall_tool(),
    )

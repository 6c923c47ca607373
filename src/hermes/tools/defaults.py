"""The tools that every agent has."""

import time
from collections.abc import Callable

from hermes.core.ports import Tool
from hermes.ports.workspace import Workspace
from hermes.tools.files.file_labels import FileLabels
from hermes.tools.files.own_tmp import with_own_tmp
from hermes.tools.files.patch import patch_tool
from hermes.tools.files.read_write import read_file_tool, write_file_tool
from hermes.tools.files.search import search_tool
from hermes.tools.labelled import (
    LabelledCommands,
    labelled_patch,
    labelled_read,
    labelled_write,
)
from hermes.tools.process import process_tool
from hermes.tools.recall import recall_tool
from hermes.tools.send import send_tool
from hermes.tools.terminal import terminal_tool
from hermes.tools.todo import todo_tool

TIMEOUT_S = 180.0


def default_tools(
    workspace: Workspace,
    *,
    timeout_s: float = TIMEOUT_S,
    vouch: Callable[[str], None] = lambda _command: None,
    labels: FileLabels | None = None,
) -> tuple[Tool, ...]:
    """Their order is part of the prompt's prefix. No tool may open what is below a path that the
    workspace guards, but for a gateway's own workspace there. `labels` is where the labels of files
    are kept."""
    places = workspace.places
    known = labels or FileLabels(None, workspace.files, time.time_ns)
    commands = LabelledCommands(workspace, known)
    return (
        commands.terminal(terminal_tool(workspace, timeout_s=timeout_s, vouch=vouch)),
        commands.process(process_tool(workspace)),
        with_own_tmp(labelled_read(read_file_tool(workspace), places, known), places),
        with_own_tmp(labelled_write(write_file_tool(workspace), places, known), places),
        with_own_tmp(labelled_patch(patch_tool(workspace), places, known), places),
        with_own_tmp(search_tool(workspace, labels=known), places),
        todo_tool(),
        with_own_tmp(send_tool(workspace, known), places),
        recall_tool(),
    )

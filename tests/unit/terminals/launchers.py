"""Launchers whose wrappers are slow or die, to see what they leave behind.

Each is the real one with a few words in front of it.
"""

import sys

from hermes.terminals.program import ROOT
from hermes.terminals.spawn import Launcher

HEAD = "import sys; sys.path.append(sys.argv.pop(1))\nfrom hermes.terminals import wrapper\n"

SLOW = """
import time
began = wrapper._began
def late(*order):
    time.sleep({pause_s})
    return began(*order)
wrapper._began = late
wrapper.main()
"""

DYING = """
import os, signal
wrap = wrapper.wrap
def dying(order, report):
    wrapper_pid = os.getpid()
    def trace(frame, event, argument):
        if frame.f_code.co_filename != wrapper.__file__:
            return None
        if event == "line" and frame.f_lineno == {line} and os.getpid() == wrapper_pid:
            os.kill(wrapper_pid, signal.SIGKILL)
        return trace
    sys.settrace(trace)
    wrap(order, report)
wrapper.wrap = dying
wrapper.main()
"""


def slow_launcher(pause_s: float) -> Launcher:
    """Its wrappers wait before they go for the gate."""
    return _launcher(SLOW.format(pause_s=pause_s))


def dying_launcher(line: int) -> Launcher:
    """Its wrappers are killed in front of this line of wrapper.py."""
    return _launcher(DYING.format(line=line))


def _launcher(code: str) -> Launcher:
    return Launcher((sys.executable, "-I", "-S", "-c", HEAD + code, ROOT))

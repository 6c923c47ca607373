"""Programs of our own that stand beside the gateway: how they are started.

Such a program needs the standard library and nothing else, so it begins without the rest: no
packages, no variables of the environment, no folder of whoever starts it.
"""

import sys
from pathlib import Path

ROOT = str(Path(__file__).parents[2])


def program(module: str) -> tuple[str, ...]:
    """The arguments that run the `main` of this module; its own come behind them."""
    code = f"import sys; sys.path.append(sys.argv.pop(1)); from {module} import main; main()"
    return (sys.executable, "-I", "-S", "-X", "utf8", "-c", code, ROOT)


LAUNCHER = program("hermes.terminals.wrapper")  # and the number of the file that it is talked to by
ENTER = program("hermes.terminals.sandbox.enter")  # and the steps, `--`, the command

"""Find the ways to run pip on this machine."""

import os
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path


def pip_commands(environ: Mapping[str, str] = os.environ) -> list[list[str]]:
    """Return the ways to run pip on this machine, best first: this environment's, that of the
    Python it was made from, the one that Python carries for new environments, uv's."""
    base = Path(sys.base_prefix)
    python = base / "bin" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    library = base / "lib" / python.name
    found = []
    if find_spec("pip") is not None:
        found.append([sys.executable, "-P", "-m", "pip"])
    if python.is_file() and any(library.glob("*-packages/pip/__main__.py")):
        found.append([str(python), "-P", "-m", "pip"])
    carried = sorted(library.glob("ensurepip/_bundled/pip-*.whl"))
    found.extend([sys.executable, "-P", str(wheel / "pip")] for wheel in carried)
    if uv := shutil.which("uv", path=environ.get("PATH")):
        found.append([uv, "tool", "run", "pip"])
    return found

"""The folder that holds everything: where it is, and how it is made."""

from collections.abc import Mapping
from pathlib import Path

from hermes.core.errors import Misconfigured

FOLDERS = ("memories", "skills", "hooks", "calls", "logs")
CONFIG, SECRETS, DATABASE = "config.yaml", ".env", "hermes.db"


def home_of(environ: Mapping[str, str]) -> Path:
    """HERMES_HOME, or .hermes in the person's own folder. Nothing is made yet."""
    try:
        chosen = Path(environ.get("HERMES_HOME", "") or "~/.hermes").expanduser()
        return chosen.absolute()
    except (RuntimeError, OSError) as lost:
        raise Misconfigured("HERMES_HOME", str(lost), "Set it to a folder of yours") from lost


def prepare(home: Path) -> None:
    """Make the home, closed to others, before something is written into it."""
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in FOLDERS:
            (home / name).mkdir(mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as taken:
        problem = f"{taken.filename} is not a folder"
        raise Misconfigured("HERMES_HOME", problem, "Set it to a folder of yours") from taken
    except OSError as refused:
        problem = f"{home} cannot be written to ({refused.strerror})"
        fix = "Make it writable, or set HERMES_HOME to another folder"
        raise Misconfigured("HERMES_HOME", problem, fix) from refused

"""The home folder of Hermes: find it and create it."""

from collections.abc import Mapping
from pathlib import Path

from hermes.core.errors import Misconfigured
from hermes.views.files import is_full, unwritable

FOLDERS = ("memories", "skills", "hooks", "calls", "logs")
CONFIG, SECRETS, DATABASE = "config.yaml", ".env", "hermes.db"
USUAL, BESIDE = "~/.hermes", "~/.hermes-durable"
THEIRS = "state.db"  # Hermes Agent, a different program, keeps its conversations there


def home_of(environ: Mapping[str, str]) -> Path:
    """Return HERMES_HOME, or ~/.hermes. If ~/.hermes belongs to Hermes Agent, return the home next
    to it, if that exists. Creates nothing."""
    try:
        chosen = Path(environ.get("HERMES_HOME", "") or USUAL).expanduser().absolute()
        if not environ.get("HERMES_HOME") and is_of_hermes_agent(chosen):
            beside = home_beside()
            return beside if beside.is_dir() else chosen
    except (RuntimeError, OSError) as lost:
        raise Misconfigured("HERMES_HOME", str(lost), "Set it to a folder that you own") from lost
    return chosen


def home_beside() -> Path:
    """Return the path of our home when ~/.hermes belongs to Hermes Agent. Raise RuntimeError,
    OSError."""
    return Path(BESIDE).expanduser().absolute()


def is_of_hermes_agent(home: Path) -> bool:
    return not (home / DATABASE).exists() and (home / THEIRS).exists()


def check_owner(home: Path) -> None:
    """Raise Misconfigured if the home belongs to Hermes Agent: it is never read or written."""
    if is_of_hermes_agent(home):
        problem = (
            f"{home} is a home of Hermes Agent ({THEIRS} is there). It is left unchanged and "
            "cannot be imported yet"
        )
        fix = f"Use another folder: HERMES_HOME={BESIDE} hermes setup"
        raise Misconfigured("HERMES_HOME", problem, fix)


def prepare(home: Path) -> None:
    """Create the home folder, readable by its owner only. Call it before the first write."""
    check_owner(home)
    try:
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        for name in FOLDERS:
            (home / name).mkdir(mode=0o700, exist_ok=True)
    except (FileExistsError, NotADirectoryError) as taken:
        problem = f"{taken.filename} is not a folder"
        raise Misconfigured("HERMES_HOME", problem, "Set it to a folder that you own") from taken
    except OSError as refused:
        if is_full(refused):
            raise unwritable(home, refused) from refused
        problem = f"{home} cannot be written to ({refused.strerror})"
        fix = "Make it writable, or set HERMES_HOME to another folder"
        raise Misconfigured("HERMES_HOME", problem, fix) from refused

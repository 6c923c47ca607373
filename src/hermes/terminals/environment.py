"""What a command sees of our environment: an allow-list, so no secret gets there by default."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from hermes.core.errors import Misconfigured

PASSED = ("PATH", "HOME", "LANG", "TZ", "USER", "LOGNAME", "SHELL", "TMPDIR")
OURS = ("HERMES_HOME", "HERMES_TURN")  # so that `hermes gateway restart` knows where it is run
PASSED_PREFIX = "LC_"
PATH_DEFAULT = "/usr/local/bin:/usr/bin:/bin"
# These make programs run code or talk to other machines; no setting may pass them on.
NEVER = ("BASH_ENV", "ENV", "NODE_OPTIONS", "PERL5OPT", "RUBYOPT", "IFS", "SHELLOPTS", "PS4")
NEVER_PREFIXES = ("LD_", "DYLD_", "PYTHON", "GIT_", "BASH_FUNC_", "HERMES_")
NEVER_SUFFIX = "_PROXY"
# In a box the programs are those of the system, and the home is the box's own and empty.
BOX_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
BOX_HOME = "/tmp/home"  # noqa: S108 - a file system of the box
BOXED = ("LANG", "TZ", "HERMES_TURN")
# No person sits in front of a command: editors end at once, pagers print, prompts are refused.
UNATTENDED: Mapping[str, str] = {
    "TERM": "dumb",
    **dict.fromkeys(("EDITOR", "VISUAL", "GIT_EDITOR"), "true"),
    **dict.fromkeys(("PAGER", "MANPAGER", "SYSTEMD_PAGER"), "cat"),
    "GIT_TERMINAL_PROMPT": "0",
    "DEBIAN_FRONTEND": "noninteractive",
    "PIP_NO_INPUT": "1",
}


class Environments(Struct, frozen=True):
    """Of a command in a box, and of one that the owner let out of it."""

    boxed: Mapping[str, str]
    host: Mapping[str, str]


def child_environment(environ: Mapping[str, str], allow: Iterable[str] = ()) -> dict[str, str]:
    """The environment of a command. `allow` names more variables that the owner lets through."""
    names = (*PASSED, *OURS, *(allowed(name) for name in allow))
    chosen = {name: environ[name] for name in names if name in environ}
    chosen |= {name: value for name, value in environ.items() if name.startswith(PASSED_PREFIX)}
    if "LANG" not in chosen and "LC_ALL" not in chosen:
        chosen["LANG"] = "C.UTF-8"
    return {"PATH": PATH_DEFAULT, **chosen, **UNATTENDED}


def box_environment(environ: Mapping[str, str], allow: Iterable[str] = ()) -> dict[str, str]:
    """The environment inside a box: less still, and no path of this machine's person."""
    plain = child_environment(environ, allow)
    names = {*BOXED, *allow, *(name for name in plain if name.startswith(PASSED_PREFIX))}
    chosen = {name: value for name, value in plain.items() if name in names}
    return {**chosen, "PATH": BOX_PATH, "HOME": BOX_HOME, **UNATTENDED}


def environments(environ: Mapping[str, str], allow: Sequence[str] = ()) -> Environments:
    return Environments(box_environment(environ, allow), child_environment(environ, allow))


def allowed(name: str) -> str:
    """The name itself. Raises Misconfigured for one that may never be passed on."""
    upper = name.upper()
    if upper in NEVER or upper.startswith(NEVER_PREFIXES) or upper.endswith(NEVER_SUFFIX):
        raise Misconfigured(
            "terminal.env", f"{name} would let the environment run code", "Remove that name."
        )
    return name

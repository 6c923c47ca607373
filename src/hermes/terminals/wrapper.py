"""The small shell program around each command: it begins it once and leaves what is worth knowing.

The wrapper stands outside the command (and outside a box, which is a prefix of `"$@"`), so the
command cannot forge its status. In the call's directory it finds `pipe` and perhaps `stdin`, both
FIFOs, and leaves

- `begun`    who runs it: pid and start time. Made with O_EXCL (`set -C`), so of all wrappers and
             seekers of one call exactly one gets it; the last line, a dot, says it is whole;
- `output`   what the command wrote, as it wrote it, up to the limit: the collector, and it alone,
             may make no larger file (`ulimit -f`); past that it is gone and the command meets a
             closed pipe. The bound holds while no gateway is alive, and other files are free;
- `drained`  the collector has seen the end of the output;
- `status`   the exit status, flushed and then renamed into place.

It catches the signals that end a group (catches, not ignores: the command gets the defaults back),
so that a polite end still leaves a status. Nothing here expands a word that came from a model.
"""

import shlex
from collections.abc import Sequence

ULIMIT_BLOCK = 512

WRAPPER = r"""
d=$1 limit=$2 groups=$3 mask=$(umask)
shift 3
umask 077
trap : HUP INT TERM
{ read -r start </proc/$$/stat; } 2>/dev/null || start=$(ps -o lstart= -p $$)
if [ -p "$d/stdin" ]; then exec 4<>"$d/stdin"; fi
set -C
printf '%s\n%s\n.\n' "$$" "$start" >"$d/begun" || exit 0
set +C
join() {
  umask "$mask"
  IFS=:
  for group in $groups; do echo 0 >"$group/cgroup.procs" || exit 125; done
  unset IFS
}
{ trap '' HUP INT TERM; ulimit -f "$limit"; cat >"$d/output"; : >"$d/drained"; } <"$d/pipe" 4<&- &
if [ -p "$d/stdin" ]; then
  (join; exec "$@") <"$d/stdin" >"$d/pipe" 2>&1 4<&-
else
  (join; exec "$@") </dev/null >"$d/pipe" 2>&1
fi
code=$?
trap '' HUP INT TERM
printf '%s\n' "$code" >"$d/status.new"
sync "$d/status.new" 2>/dev/null
mv "$d/status.new" "$d/status"
"""


def kept_bytes(bytes_max: int) -> int:
    """How much output is kept exactly: a shell limits files in blocks."""
    return bytes_max // ULIMIT_BLOCK * ULIMIT_BLOCK


def wrapped(
    command: Sequence[str],
    *,
    directory: str,
    bytes_max: int,
    groups: Sequence[str] = (),
    script: str = WRAPPER,
) -> list[str]:
    """The arguments that run this command under the wrapper, in these control groups."""
    blocks = str(kept_bytes(bytes_max) // ULIMIT_BLOCK)
    return ["sh", "-c", script, "hermes-call", directory, blocks, ":".join(groups), *command]


def shell_text(command: str, *, workdir_file: str, limits: str = "") -> str:
    """The command for `bash -c`, so that its last working directory is written down.

    `eval` keeps line numbers and error messages those of the command itself. A command that sets
    an EXIT trap of its own, or is killed, leaves no directory: the session's stays as it was.
    """
    note = f"pwd >{shlex.quote(workdir_file)}"
    first = f"{limits}; " if limits else ""
    return f"{first}trap {shlex.quote(note)} EXIT; eval {shlex.quote(command)}"

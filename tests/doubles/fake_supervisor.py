"""systemctl, launchctl, journalctl, loginctl for tests: they log calls and keep one process.

Called by a script of that name on the PATH, with the folder of its state in FAKE_SUPERVISOR. What
is started there is the command of the service file, read in the simplest way that can be right.
A file `silent` in the folder makes the supervisor unreachable, `failing` makes each start fail.
"""

import json
import os
import plistlib
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

FOLDER = Path(os.environ["FAKE_SUPERVISOR"])
UNITS = Path(os.environ["HOME"]) / ".config" / "systemd" / "user"
PATIENCE_S = 60.0


def say(text: object) -> None:
    sys.stdout.write(f"{text}\n")


def pid() -> int:
    """Return the pid of the supervised process; 0 if it is not alive."""
    try:
        kept = int((FOLDER / "pid").read_text())
        os.kill(kept, 0)
        state = Path(f"/proc/{kept}/stat").read_text().rpartition(")")[2].split()[0]
    except (FileNotFoundError, ProcessLookupError):
        return 0
    return 0 if state == "Z" else kept


def begin(command: list[str], environ: dict[str, str]) -> int:
    if (FOLDER / "failing").exists():
        sys.stderr.write("Job for it failed.\nSee elsewhere.\n")
        return 1
    if pid():
        return 0
    note = Path(environ["HERMES_HOME"]) / "gateway.lock"
    child = subprocess.Popen(
        command,
        env={**os.environ, **environ},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    (FOLDER / "pid").write_text(str(child.pid))
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline and child.poll() is None:
        if note.exists() and f'"pid": {child.pid},' in note.read_text():
            return 0
        time.sleep(0.02)
    return 1


def end() -> int:
    if pid():
        os.kill(pid(), signal.SIGTERM)
    return 0


def systemctl(words: list[str]) -> int:
    match words[1:]:
        case ["show-environment"]:
            return int((FOLDER / "silent").exists())
        case ["show", "--property=MainPID", "--value", _]:
            say(pid())
        case ["show", "--property=ActiveState", "--value", _]:
            say("active" if pid() else "inactive")
        case ["start", unit]:
            lines = (UNITS / unit).read_text().splitlines()
            pairs = [line.partition("=")[::2] for line in lines]
            command = next(shlex.split(value) for key, value in pairs if key == "ExecStart")
            given = [shlex.split(value)[0] for key, value in pairs if key == "Environment"]
            return begin(command, dict(each.split("=", 1) for each in given))
        case ["stop", "--no-block", _]:
            return end()
    return 0


def launch(file: Path) -> int:
    listed = plistlib.loads(file.read_bytes())
    return begin(listed["ProgramArguments"], listed["EnvironmentVariables"])


def launchctl(words: list[str]) -> int:
    loaded = FOLDER / "loaded"
    match words:
        case ["print", target]:
            if target.count("/") == 1:
                return int((FOLDER / "silent").exists())
            say(f"hermes = {{\n\tstate = running\n\tpid = {pid()}\n}}")
            return 0 if loaded.exists() else 113
        case ["bootstrap", _domain, file]:
            loaded.write_text(file)
            return launch(Path(file))
        case ["kickstart", _target]:
            return launch(Path(loaded.read_text()))
        case ["bootout", _target]:
            loaded.unlink(missing_ok=True)
            end()
            return 36
    return 0


def main(name: str, words: list[str]) -> int:
    with (FOLDER / "calls").open("a") as calls:
        calls.write(json.dumps([name, *words]) + "\n")
    match name:
        case "systemctl":
            return systemctl(words)
        case "launchctl":
            return launchctl(words)
        case "journalctl":
            say("its last words")
        case "loginctl":
            say((FOLDER / "linger").read_text() if (FOLDER / "linger").exists() else "no")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))

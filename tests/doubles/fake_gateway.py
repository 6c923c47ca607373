"""A gateway that does only what other programs can see: the lock, the note, the signals.

It runs by itself, without the package. The environment shapes it: FAKE_DIES=STATUS ends it at
once, FAKE_REFUSES=WHY refuses to restart, FAKE_SLOW_S delays the lock, FAKE_DRAIN is how long a
drain takes (seconds, or until the file of that name is there), FAKE_HURRIES ends a drain when it is
asked a second time, FAKE_RESTART=dies ends it instead of a restart, FAKE_DETACHED=FILE begins a
command that outlives it and writes its pid there. Under systemd it says that it is ready and feeds
the watchdog.
"""

import fcntl
import json
import os
import signal
import socket
import subprocess
import sys
import time

HOME = os.environ["HERMES_HOME"]
INHERITED = "FAKE_LOCK_FD"
STARTED = time.time()


def notify(text: str) -> None:
    address = os.environ.get("NOTIFY_SOCKET", "")
    if address:
        with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as wire:
            wire.sendto(text.encode(), address.replace("@", "\0", 1))


def lock() -> int:
    inherited = os.environ.get(INHERITED)
    if inherited:  # taken before the exec, and kept since
        return int(inherited)
    handle = os.open(os.path.join(HOME, "gateway.lock"), os.O_RDWR | os.O_CREAT, 0o600)  # noqa: PTH118
    for _attempt in range(20):
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            time.sleep(0.02)  # another process may only be checking it
        else:
            return handle
    sys.stderr.write("hermes: a gateway is already running on this home\n")
    sys.exit(75)


def write_note(handle: int, **more: object) -> None:
    note = {"pid": os.getpid(), "started_at": STARTED, "argv": sys.argv, **more}
    line = json.dumps(note).encode()
    os.pwrite(handle, line.ljust(os.fstat(handle).st_size - 1) + b"\n", 0)


def drain() -> None:
    wait = os.environ.get("FAKE_DRAIN", "0")
    if not wait.startswith("/"):
        time.sleep(float(wait))
        return
    while not os.path.exists(wait):  # noqa: PTH110
        time.sleep(0.02)


def hurry(_number: int, _frame: object) -> None:
    sys.exit(0)


def stop(_number: int, _frame: object) -> None:
    if "FAKE_HURRIES" in os.environ:
        signal.signal(signal.SIGTERM, hurry)
    notify("STOPPING=1")
    drain()
    sys.stderr.write("stopped\n")
    sys.exit(0)


def main() -> None:
    if "FAKE_DIES" in os.environ:
        sys.stderr.write("first line\nit cannot be\n")
        sys.exit(int(os.environ["FAKE_DIES"]))
    time.sleep(float(os.environ.get("FAKE_SLOW_S", "0")))
    handle = lock()

    def renew(_number: int, _frame: object) -> None:
        problem = os.environ.get("FAKE_REFUSES", "")
        write_note(handle, checked={"at": time.monotonic(), "problem": problem})
        if problem:
            return
        notify(f"RELOADING=1\nMONOTONIC_USEC={time.monotonic_ns() // 1000}")
        drain()
        if os.environ.get("FAKE_RESTART") == "dies":
            os.environ.pop("FAKE_RESTART")
            sys.exit(1)
        os.set_inheritable(handle, True)
        os.environ[INHERITED] = str(handle)
        os.execv(sys.executable, [sys.executable, *sys.argv])  # noqa: S606

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGUSR1, renew)
    write_note(handle)
    if "FAKE_DETACHED" in os.environ and INHERITED not in os.environ:
        sleeper = subprocess.Popen(["sleep", "60"], start_new_session=True)
        with open(os.environ["FAKE_DETACHED"], "w") as file:  # noqa: PTH123
            file.write(str(sleeper.pid))
    notify("READY=1")
    while True:
        notify("WATCHDOG=1")
        time.sleep(0.2)


if __name__ == "__main__":
    main()

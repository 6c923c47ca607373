"""Makes the environment that ./hermes runs in, then becomes the Python of that environment.

Called by setup/start.sh when no environment is whole. Needs only the standard library and uv,
pip or ensurepip. The environment is built aside and renamed into place with its stamp inside, so at
every instant there is a whole one or none: a build that was killed leaves only a folder, which the
next one sweeps away. A lock lets one of several starts build while the others wait.
"""

import contextlib
import errno
import fcntl
import os
import re
import select
import shlex
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import NoReturn

STAMP = "hermes-stamp"
TICK_S = 0.1
REPORT_EVERY_S = 10.0
BAR_CHARS = 24
WHY_CHARS_MAX = 300
SCRIPT_BYTES_MAX = 65_536
NOT_INSTALLED = "packages could not be installed: "
# Wheels only: to build a package would run code, its own and its tools', that no hash covers.
LOCKED = ("--require-hashes", "--only-binary", ":all:")


class Failed(Exception):
    """Setting up did not work; the text says what, why and what to try."""


@dataclass(frozen=True)
class Plan:
    """What to make: where, from which requirement files, and for which checkout."""

    root: Path
    place: Path
    sets: tuple[str, ...]
    asked_python: str

    def files_of(self, sets: tuple[str, ...]) -> list[Path]:
        return [self.root / "requirements" / f"{name}.txt" for name in sets]

    def files(self) -> list[Path]:
        return self.files_of(self.sets)

    def first_lines(self) -> list[str]:
        return [file.read_text(encoding="utf-8").partition("\n")[0] for file in self.files()]

    def marks(self) -> set[str]:
        python = {f"python {self.asked_python}"} if self.asked_python else set()
        return {f"root {self.root}", *python}

    def stamp(self) -> set[str]:
        return {*self.first_lines(), *self.marks()}

    def aside(self, why: str) -> Path:
        return self.place.with_name(f"{self.place.name}.{why}-{os.getpid()}")

    def log(self) -> Path:
        return self.place.with_name(f"{self.place.name}.log")


@dataclass
class Progress:
    """What a person sees: one live line on a terminal, now and then a plain line elsewhere."""

    total: int
    live: bool = field(default_factory=lambda: sys.stderr.isatty() and os.getenv("TERM") != "dumb")
    started: float = field(default_factory=time.monotonic)
    reported: float = field(default_factory=time.monotonic)
    fetched: int = 0
    laid: int = 0
    there: int = 0  # packages that were in the environment before

    def say(self, text: str) -> None:
        clear = "\r\x1b[K" if self.live else ""
        print(f"{clear}hermes: {text}", file=sys.stderr, flush=True)

    def seconds(self) -> int:
        return round(time.monotonic() - self.started)

    def tick(self) -> None:
        doing, done = ("installing", self.laid) if self.laid else ("downloading", self.fetched)
        text = f"{doing}, {done} of {self.total} packages, {self.seconds()} s"
        if self.live:
            # Half of the bar is for downloading, which is over once the first package is laid down.
            done = self.total + self.laid if self.laid else self.fetched
            filled = min(BAR_CHARS, BAR_CHARS * done // max(1, 2 * self.total))
            line = f"hermes: [{'=' * filled}{' ' * (BAR_CHARS - filled)}] {text}"
            width = shutil.get_terminal_size().columns - 1
            print(f"\r\x1b[K{line[:width]}", end="", file=sys.stderr, flush=True)
        elif time.monotonic() - self.reported >= REPORT_EVERY_S:
            self.reported = time.monotonic()
            self.say(text)


def stamp_of(place: Path) -> set[str]:
    """The lines of the environment's stamp; empty when there is none that we made."""
    try:
        return set((place / STAMP).read_text(encoding="utf-8").splitlines())
    except OSError:
        return set()


def is_whole(plan: Plan) -> bool:
    runs = os.access(plan.place / "bin" / "python", os.X_OK)
    return runs and plan.stamp() <= stamp_of(plan.place)


def in_cache(cached: str) -> Path:
    """The place in the user's cache. Nothing there may be another user's: we would run it."""
    if not cached:
        raise Failed(
            "the checkout cannot hold the environment, and HOME is not set, so there is no cache "
            "for it. Set HOME, or make the checkout writable."
        )
    place = Path(cached)
    for path in (place.parent, place):
        if path.exists() and path.stat().st_uid != os.geteuid():
            raise Failed(f"{path} belongs to another user. Remove it, or set XDG_CACHE_HOME.")
    return place


def make_plan(root: Path, cached: str, asked: str) -> Plan:
    """In the checkout, unless that is read-only or holds an environment of somebody else."""
    place = root / ".venv"
    foreign = place.exists() and not stamp_of(place)
    if foreign or not os.access(root, os.W_OK):
        place = in_cache(cached)
    # Sets that were added once stay, whatever this start asks for.
    before = {line.split()[1] for line in stamp_of(place) if line.startswith("# ")}
    known = {name for name in before if (root / "requirements" / f"{name}.txt").exists()}
    wanted = asked.split()
    for name in wanted:
        if not (root / "requirements" / f"{name}.txt").exists():
            raise Failed(f"there is no set {name!r}: requirements/{name}.txt does not exist.")
    sets = (*wanted, *sorted(known - set(wanted)))
    return Plan(root, place, tuple(dict.fromkeys(sets)), os.getenv("HERMES_PYTHON", ""))


@contextlib.contextmanager
def only_one(folder: Path, progress: Progress) -> Iterator[None]:
    """Hold the folder's lock; the system gives it back however this process ends."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            progress.say("another start is setting up the environment; waiting for it.")
            fcntl.flock(handle, fcntl.LOCK_EX)
        except OSError:
            progress.say("this file system has no locks; setting up without one.")
        yield
    finally:
        os.close(handle)


def packages_in(files: list[Path]) -> int:
    names = (re.findall(r"^[a-z0-9][^=\s]*(?===)", f.read_text("utf-8"), re.M) for f in files)
    return len({name for found in names for name in found})


def recipes(python: Path, *, compiled: bool) -> Iterator[list[list[str]]]:
    """The ways to fill the environment, best first; pip may know an index that uv does not.

    Most of what is installed is never imported. What is, Python compiles then, once: that saves a
    third of the time and the space. Tests run side by side, so for them it is done before.
    """
    by_uv, by_pip = (["--compile-bytecode"], []) if compiled else ([], ["--no-compile"])
    if uv := shutil.which("uv"):
        yield [[uv, "pip", "install", "--python", str(python), *by_uv, "--no-deps"]]
    outer = [sys.executable, "-P", "-m", "pip"]
    if subprocess.run([*outer, "--version"], capture_output=True, check=False).returncode == 0:
        yield [[*outer, "--python", str(python), "install", *by_pip, "--no-deps"]]
    else:
        own = [str(python), "-I", "-m"]
        yield [[*own, "ensurepip"], [*own, "pip", "install", *by_pip, "--no-deps"]]


def clean_environment() -> dict[str, str]:
    """The caller's environment without what would send the packages somewhere else."""
    elsewhere = {"PIP_TARGET", "PIP_PREFIX", "PIP_ROOT", "PIP_USER", "PYTHONHOME", "PYTHONPATH"}
    kept = {name: value for name, value in os.environ.items() if name not in elsewhere}
    return {**kept, "PIP_USER": "0", "PIP_NO_INPUT": "1", "PIP_PROGRESS_BAR": "off"}


def run_logged(command: list[str], log: Path, progress: Progress, packages: Path) -> int:
    """Run a command, its output to the log; count what it fetches, then what it lays down."""
    with log.open("ab") as out:
        out.write(f"$ {shlex.join(command)}\n".encode())
        out.flush()
        child = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=clean_environment(),
        )
        try:
            assert child.stdout is not None
            pipe = child.stdout.fileno()
            while True:
                ready, _, _ = select.select([pipe], [], [], TICK_S)
                chunk = os.read(pipe, 65536) if ready else b""
                if ready and not chunk:
                    return child.wait()
                out.write(chunk)
                out.flush()
                progress.fetched += len(re.findall(rb"^(?:Collecting|Ignoring) ", chunk, re.M))
                progress.laid = len(list(packages.glob("*.dist-info"))) - progress.there
                progress.tick()
        finally:
            if child.poll() is None:
                child.terminate()
                child.wait()


def added(plan: Plan) -> tuple[str, ...]:
    """The sets that a whole environment lacks; all of them when there is none to build on."""
    there = stamp_of(plan.place)
    lines = dict(zip(plan.sets, plan.first_lines(), strict=True))
    missing = tuple(name for name, line in lines.items() if line not in there)
    fits = os.access(plan.place / "bin" / "python", os.X_OK) and plan.marks() <= there
    # Another version of a set means that something may have to go: that is built from nothing.
    renewed = any(line.startswith(f"# {name} ") for name in missing for line in there)
    return missing if fits and not renewed else plan.sets


def link(source: str, target: str) -> None:
    try:
        os.link(source, target, follow_symlinks=False)
    except OSError:  # this file system has none
        shutil.copy2(source, target, follow_symlinks=False)


def extend(plan: Plan, built: Path) -> None:
    """A copy of what is there, by links: whoever changes a file of it must replace that."""
    shutil.copytree(plan.place, built, symlinks=True, copy_function=link)
    (built / STAMP).unlink()
    plan.log().write_text(f"on top of what is in {plan.place}\n", encoding="utf-8")


def create(environment: Path, log: Path) -> None:
    """An empty environment on the real interpreter: the link breaks when that is removed."""
    real = os.path.realpath(sys.executable)
    command = [real, "-I", "-m", "venv", "--symlinks", "--without-pip", str(environment)]
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    log.write_text(f"$ {shlex.join(command)}\n{made.stdout}{made.stderr}", encoding="utf-8")
    if made.returncode:
        raise Failed(f"{real} -m venv failed; log: {log}")


def why_in(log: Path) -> str:
    """The one line of an installer's log that tells a person most."""
    text = log.read_text(encoding="utf-8", errors="replace")
    if re.search(r"No space left on device|os error 28|Errno 28", text):
        return "the disk is full."
    if re.search(r"connection broken|Request failed|error sending request|dns error", text):
        return "the package index cannot be reached."
    if "No module named ensurepip" in text:
        return "there is neither uv nor pip (Debian, Ubuntu: apt install python3-pip)."
    errors = re.findall(r"^(?:ERROR|error): *(.+)$", text, re.M) or text.split("\n")[-2:]
    return str(errors[-1])[:WHY_CHARS_MAX]


def fill(plan: Plan, files: list[Path], environment: Path, progress: Progress) -> None:
    """Install the locked packages, hashes checked, in the first way that works."""
    packages = Path(sysconfig.get_path("purelib", "venv", {"base": str(environment)}))
    progress.there = len(list(packages.glob("*.dist-info")))
    pins = [word for file in files for word in ("-r", str(file))]
    for recipe in recipes(environment / "bin" / "python", compiled="test" in plan.sets):
        recipe[-1] += [*LOCKED, *pins]
        if all(run_logged(step, plan.log(), progress, packages) == 0 for step in recipe):
            checkout = packages / "hermes-checkout.pth"
            checkout.unlink(missing_ok=True)
            checkout.write_text(f"{plan.root / 'src'}\n", "utf-8")
            return
    alone = [sys.executable, "-m", "pip", "install", "--dry-run", "--ignore-installed"]
    raise Failed(
        f"{NOT_INSTALLED}{why_in(plan.log())}\n"
        f"  log: {plan.log()}\n"
        f"  to try that alone: {shlex.join([*alone, *LOCKED, *pins])}\n"
        "  with another Python: HERMES_PYTHON=/path/to/python3 ./hermes"
    )


def move_in(plan: Plan, built: Path) -> None:
    """Make scripts name their final place, write the stamp, and swap the folders."""
    for file in (built / "pyvenv.cfg", *(built / "bin").iterdir()):
        if not file.is_symlink() and file.stat().st_size <= SCRIPT_BYTES_MAX:
            text = file.read_bytes()
            final = text.replace(os.fsencode(built), os.fsencode(plan.place))
            if final != text:
                file.write_bytes(final)
    (built / STAMP).write_text("\n".join([*sorted(plan.stamp()), ""]), encoding="utf-8")
    old = plan.aside("old")
    if plan.place.exists():
        plan.place.rename(old)
    built.rename(plan.place)
    shutil.rmtree(old, ignore_errors=True)


def build(plan: Plan, progress: Progress) -> None:
    for left in plan.place.parent.glob(f"{plan.place.name}.*-*"):
        shutil.rmtree(left, ignore_errors=True)
    built = plan.aside("new")
    missing = added(plan)
    more = missing != plan.sets
    verb = "updating" if stamp_of(plan.place) else "first start: setting up"
    what = f"adding {' '.join(missing)} to" if more else verb
    progress.say(f"{what} the Python environment in {plan.place}")
    files = plan.files_of(missing)
    progress.total = packages_in(files)
    try:
        if more:
            extend(plan, built)
        else:
            create(built, plan.log())
        fill(plan, files, built, progress)
        move_in(plan, built)
    finally:
        shutil.rmtree(built, ignore_errors=True)
    progress.say(f"ready after {progress.seconds()} s")


def complain(error: Exception) -> None:
    """On standard error; a program that asked for the reason gets its first line to tell it."""
    clear = "\r\x1b[K" if sys.stderr.isatty() else ""
    full = isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT)
    why = f"the disk is full ({error})" if full else str(error)
    if os.getenv("HERMES_SETUP_REASON") == "stdout":
        print(clear, end="", file=sys.stderr)
        print(why.partition("\n")[0].removeprefix(NOT_INSTALLED).rstrip("."))
    else:
        print(f"{clear}hermes: cannot set up: {why}", file=sys.stderr)


def stop(_signal: int, _frame: object) -> NoReturn:
    sys.exit(143)


def main(root: str, cached: str, asked: str, *arguments: str) -> NoReturn:
    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGHUP, stop)
    try:
        plan = make_plan(Path(root), cached, asked)
        plan.place.parent.mkdir(parents=True, exist_ok=True)
        progress = Progress(packages_in(plan.files()))
        with only_one(plan.place.parent, progress):
            plan = make_plan(Path(root), cached, asked)
            if not is_whole(plan):
                build(plan, progress)
    except (Failed, OSError) as error:
        complain(error)
        sys.exit(1)
    except KeyboardInterrupt:
        print(
            "\nhermes: setting up was interrupted; the next start does it again.", file=sys.stderr
        )
        sys.exit(130)
    python = str(plan.place / "bin" / "python")
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    os.execv(python, [python, *arguments])


if __name__ == "__main__":
    main(*sys.argv[1:])

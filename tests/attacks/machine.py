"""The machine around the boxes: its knobs, which an attack may not turn, read and put back."""

import os
from contextlib import suppress
from pathlib import Path

KNOBS = (
    *("kernel/core_pattern", "kernel/modprobe", "kernel/hotplug", "kernel/poweroff_cmd"),
    *("kernel/sysrq", "kernel/randomize_va_space", "kernel/hostname", "kernel/domainname"),
    *("kernel/yama/ptrace_scope", "kernel/unprivileged_bpf_disabled", "kernel/printk"),
    *("fs/suid_dumpable", "fs/protected_symlinks", "vm/overcommit_memory", "vm/mmap_min_addr"),
    *("net/ipv4/ip_forward", "user/max_user_namespaces", "kernel/core_uses_pid"),
)
FILES = (
    *(Path("/proc/sys", knob) for knob in KNOBS),
    Path("/sys/kernel/uevent_helper"),
    Path("/sys/fs/cgroup/release_agent"),
    Path("/sys/fs/cgroup/memory/release_agent"),
    Path("/sys/fs/cgroup/pids/release_agent"),
)


def machine_state() -> dict[str, tuple[object, ...]]:
    """Return the kernel settings that affect the whole machine."""
    return {str(file): (_read(file),) for file in FILES}


def restore(state: dict[str, tuple[object, ...]]) -> None:
    """Restore what an attack has changed, to protect the next test and this machine."""
    for file in FILES:
        was = state[str(file)][0]
        if isinstance(was, bytes) and _read(file) != was:
            with suppress(OSError):
                file.write_bytes(was)


def set_id_files(folder: Path) -> dict[str, tuple[object, ...]]:
    """Return the setuid and setgid programs below the folder."""
    found: dict[str, tuple[object, ...]] = {}
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            mode = Path(root, name).lstat().st_mode
            if mode & 0o6000:
                found[f"{root}/{name}"] = ("set id", oct(mode))
    return found


def _read(file: Path) -> bytes | None:
    try:
        return file.read_bytes()
    except OSError:
        return None

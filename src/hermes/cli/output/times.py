"""Format times and durations for people, and as ISO 8601 for programs."""

from datetime import UTC, datetime

MINUTE, HOUR, DAY = 60, 3600, 24 * 3600


def ago(at: float, now: float) -> str:
    """Return `2 min ago` for a recent time, the local date for an older one."""
    past = now - at
    if -MINUTE < past < MINUTE:
        return "just now"
    if 0 < past < HOUR:
        return f"{int(past // MINUTE)} min ago"
    if 0 < past < DAY:
        return f"{int(past // HOUR)} h ago"
    return stamp(at, now)


def stamp(at: float, now: float) -> str:
    """Return the local date and time, without the date if it is today."""
    then, today = datetime.fromtimestamp(at).astimezone(), datetime.fromtimestamp(now).astimezone()
    if then.date() == today.date():
        return f"{then:%H:%M}"
    return f"{then:%d %b %H:%M}" if then.year == today.year else f"{then:%d %b %Y}"


def took(seconds: float) -> str:
    if seconds < 1:
        return f"{max(seconds, 0) * 1000:.0f} ms"
    if seconds < MINUTE:
        return f"{seconds:.1f} s"
    if seconds < HOUR:
        return f"{int(seconds // MINUTE)} min {int(seconds % MINUTE)} s"
    return f"{int(seconds // HOUR)} h {int(seconds % HOUR // MINUTE)} min"


def iso(at: float | None) -> str | None:
    """Return the time as ISO 8601 in UTC, so that texts sort like times."""
    if at is None:
        return None
    return datetime.fromtimestamp(at, UTC).isoformat(timespec="milliseconds")


def file_stamp(at: float) -> str:
    """Return the local time in a sortable form for a file's name."""
    return f"{datetime.fromtimestamp(at).astimezone():%Y%m%d-%H%M%S}"

"""The exit statuses that scripts rely on, and the error for wrong usage."""

from hermes.core.errors import HermesError, Misconfigured, StoreBusy

DONE, FAILED, WRONG_USAGE, TRY_AGAIN, CONFIGURATION, INTERRUPTED = 0, 1, 2, 75, 78, 130


class UsageError(Exception):
    """The arguments are wrong; the message says what would be right."""


def status_of(error: HermesError) -> int:
    match error:
        case Misconfigured():
            return CONFIGURATION
        case StoreBusy():
            return TRY_AGAIN
        case _:
            return FAILED

"""The exit statuses that scripts rely on, and the error of words that make no sense."""

from hermes.core.errors import HermesError, Misconfigured, StoreBusy

DONE, FAILED, WRONG_USAGE, TRY_AGAIN, CONFIGURATION, INTERRUPTED = 0, 1, 2, 75, 78, 130


class Usage(Exception):
    """The words cannot be understood; the message says what would be."""


def status_of(error: HermesError) -> int:
    match error:
        case Misconfigured():
            return CONFIGURATION
        case StoreBusy():
            return TRY_AGAIN
        case _:
            return FAILED

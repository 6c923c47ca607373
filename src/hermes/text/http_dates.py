"""Parse dates in the format of HTTP and mail."""

from typing import TYPE_CHECKING

from hermes.lazy import LazyModule

if TYPE_CHECKING:
    from email import utils as email_utils
else:
    email_utils = LazyModule("email.utils")


def parse_http_date(date: str) -> float:
    """Return the time in seconds. Raise ValueError, TypeError or OverflowError."""
    return email_utils.parsedate_to_datetime(date).timestamp()

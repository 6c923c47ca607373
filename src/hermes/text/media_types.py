"""The media type of a file, from its name."""

from typing import TYPE_CHECKING

from hermes.lazy import LazyModule

if TYPE_CHECKING:
    import mimetypes
else:
    mimetypes = LazyModule("mimetypes")

UNKNOWN = "application/octet-stream"


def media_type_of(file: str) -> str:
    """Return the media type of a file with this name."""
    return mimetypes.guess_type(file)[0] or UNKNOWN

"""Write files where a person wants them."""

from pathlib import Path

from hermes.core.errors import StoreFailed
from hermes.views.files import whole_file


def saved(path: str | Path, content: bytes) -> None:
    """Write a file atomically. A link stays, and its target is replaced. Raise StoreFailed, also
    when the folder is missing: a typo must not create one."""
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise StoreFailed(f"{target} cannot be written (there is no folder {target.parent})")
    whole_file(target, content)

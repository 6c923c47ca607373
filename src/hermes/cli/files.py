"""Files where a person wants them."""

from pathlib import Path

from hermes.core.errors import StoreFailed
from hermes.views.files import whole_file


def saved(path: str | Path, content: bytes) -> None:
    """In one step. A link stays: what it leads to is replaced. Raises StoreFailed, also when the
    folder is not there: a name with a slip in it makes none."""
    target = Path(path).resolve()
    if not target.parent.is_dir():
        raise StoreFailed(f"{target} cannot be written (there is no folder {target.parent})")
    whole_file(target, content)

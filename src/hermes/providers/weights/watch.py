"""Tell a person how a download goes."""


class FetchWatch:
    """What a person is told while weights are fetched; this one tells nothing."""

    def begin(self, place: str, done: int) -> None:
        """A place is asked for the rest."""

    def progress(self, done: int) -> None:
        """So many bytes are here."""

    def coming(self, more: int) -> None:
        """So many bytes of an archive have come; they count when it is complete."""

    def failed(self, place: str, why: str) -> None:
        """A place does not have them."""

    def check(self) -> None:
        """All bytes are here and are compared with the digest."""

    def wait(self) -> None:
        """Another process fetches the same file; this one waits for it."""

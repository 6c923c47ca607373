"""A received message before its files are fetched. Pure."""

from msgspec import Struct
from msgspec.structs import replace

from hermes.channels.kit.media import IncomingFile
from hermes.core.messages import Inbound


class IncomingSticker(Struct, frozen=True, kw_only=True):
    """A sticker. `id` is the same wherever it is sent, so it is described once."""

    id: str
    picture: IncomingFile | None
    plain: str  # what is said of it as long as nothing describes it


class Arrival(Struct, frozen=True, kw_only=True):
    """A message for us. `lead` is put before its own words; its files are not fetched yet."""

    inbound: Inbound
    private: bool
    lead: str = ""
    body: str = ""
    files: tuple[IncomingFile, ...] = ()
    sticker: IncomingSticker | None = None

    def saying(self, body: str) -> "Arrival":
        """Return the same message with other words."""
        return replace(self, body=body, inbound=replace(self.inbound, text=self.lead + body))

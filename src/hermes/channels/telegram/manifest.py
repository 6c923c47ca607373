"""What Telegram can do and wants, as data."""

from typing import Final

from hermes.channels.telegram.render import TEXT_UNITS_MAX
from hermes.channels.telegram.settings import TelegramSettings
from hermes.core.channel import Manifest

NAME: Final = "telegram"
PAUSE_S: Final = 1.0  # in one chat; a group that gets more is told to wait, and does
DRAFT_S: Final = 1.5
HINTS: Final = (
    "You are read on a phone, in Telegram: keep it short. Bold, italics, links, lists, quotes and "
    "code are shown; headings become bold, and tables fixed-width text, so keep them narrow. No "
    "HTML."
)


def manifest_of(settings: TelegramSettings) -> Manifest:
    return Manifest(
        name=NAME,
        text_chars_max=TEXT_UNITS_MAX,
        on_doubt="look",
        single=True,
        tells_waiting=True,
        banner=settings.banner,
        pause_s=PAUSE_S,
        draft_s=DRAFT_S if settings.drafts else 0.0,
        hints=HINTS,
    )

"""The facts of Telegram: what it can do, and its limits."""

from typing import Final

from hermes.channels.telegram.render import TEXT_UNITS_MAX
from hermes.channels.telegram.settings import TelegramSettings
from hermes.core.channel import ButtonLimits, Manifest

NAME: Final = "telegram"
TITLE: Final = "Telegram"
PAUSE_S: Final = 1.0  # in one chat; a group that gets more is told to wait, and does
DRAFT_S: Final = 1.5
UPLOAD_BYTES_MAX: Final = 50_000_000
BUTTONS: Final = ButtonLimits(rows=20, per_row=8, label_chars=60, value_bytes=64)
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
        banner=settings.common.banner,
        pause_s=PAUSE_S,
        draft_s=DRAFT_S if settings.common.drafts else 0.0,
        hints=HINTS,
        edits=True,
        typing_s=4.0,  # Telegram shows it for five seconds
        reactions=True,
        receipts=settings.common.receipts,
        buttons=BUTTONS,
        file_bytes_max=UPLOAD_BYTES_MAX,
        threads=True,
    )

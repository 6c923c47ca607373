"""Where skills lie: those that came with Hermes, and what stands beside those of a home."""

from pathlib import Path

BUILTIN = Path(__file__).with_name("builtin")
UNAPPROVED = (".quarantine", ".proposals", ".guard")  # beside the skills, and no part of them

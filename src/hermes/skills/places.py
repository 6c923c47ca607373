"""Paths of skills: the built-in ones, and the folders next to a home's own."""

from pathlib import Path

BUILTIN = Path(__file__).with_name("builtin")
UNAPPROVED = (".quarantine", ".proposals", ".guard")  # next to the skills, never listed as one

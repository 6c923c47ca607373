"""hermes with one more channel: a folder of its own, and one more word in the list."""

import sys
from pathlib import Path

import hermes.channels
from hermes.__main__ import main
from hermes.app import platforms

if __name__ == "__main__":
    hermes.channels.__path__.append(str(Path(__file__).parent / "channels"))
    platforms.CHANNELS = (*platforms.CHANNELS, "pigeon")
    sys.exit(main())

"""The parts of the window that need no terminal."""

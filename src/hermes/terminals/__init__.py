"""Places where commands run: plugins behind the Terminal port of views/terminal.py."""

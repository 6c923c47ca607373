"""Places where commands run: plugins behind the Terminal port of ports/terminal.py."""

"""Places where commands run: plugins behind the Terminal port of core/terminal.py."""

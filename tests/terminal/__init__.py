"""The window in a real terminal: a pseudo-terminal with an emulator behind it, or tmux."""

"""Boxes for commands: bubblewrap where it is, else Landlock, else nothing runs."""

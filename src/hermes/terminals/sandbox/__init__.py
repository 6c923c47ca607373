"""Sandboxes for commands: own namespaces, bubblewrap or Landlock; without one nothing runs."""

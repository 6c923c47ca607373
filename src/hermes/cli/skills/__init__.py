"""hermes skills: list, install and approve skills."""

"""hermes doctor: what is wrong with this installation, and how to fix it."""

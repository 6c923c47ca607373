"""hermes backup and hermes restore: everything in one file, and back."""

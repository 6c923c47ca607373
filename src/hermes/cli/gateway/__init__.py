"""hermes gateway: the long-running process, and the service that keeps it running."""

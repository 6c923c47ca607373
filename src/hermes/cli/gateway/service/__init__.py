"""Run the gateway in the background: by systemd, launchd, or as a child process."""

"""hermes cron: jobs that run by the clock."""

"""The cron commands."""

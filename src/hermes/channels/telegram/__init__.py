"""Telegram: a bot that people write to, by long polling or a webhook."""

"""Hermes: a self-hosted AI agent whose turns survive crashes, restarts and deploys."""

__version__ = "0.1.0"

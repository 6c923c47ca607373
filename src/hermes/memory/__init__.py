"""The agent's memory between conversations: plain files, each with a version history."""

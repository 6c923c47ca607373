"""Subagents: sessions of their own that do a part of the work, and report."""

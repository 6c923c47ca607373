"""Hooks: the owner's programs that are told what happens, each in its own folder and process."""

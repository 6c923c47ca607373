"""The terminal window: a user interface of the engine, connected through the local channel."""

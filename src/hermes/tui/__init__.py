"""The terminal's window: a face of the engine, which it sees through the local channel only."""

"""hermes chat, hermes send and the window: one message, or a conversation in the terminal."""

"""The HTTP API that OpenAI's clients speak, as a channel: a request is a message."""

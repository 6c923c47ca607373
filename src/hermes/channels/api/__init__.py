"""HTTP as OpenAI's clients speak it, as a channel: a request is a message, the answer its reply."""

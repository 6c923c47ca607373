"""What the agent can do: each tool is a `Tool` value that a factory function makes."""

"""What a prompt says of the place where a conversation happens, and of how the agent speaks."""

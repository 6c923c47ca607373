"""Skills: folders of instructions that the agent reads when a task calls for them."""

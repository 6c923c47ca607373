"""hermes approvals: open questions to the owner, and permanent grants."""

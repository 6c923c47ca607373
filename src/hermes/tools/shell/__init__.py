"""Judge shell commands: their effect, and whether they need a question. See README.md."""

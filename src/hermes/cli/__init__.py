"""The command line: `main` finds the command, and each command has a module of its own."""

"""The command line: `main` reads the words, one module a family of commands does the work."""

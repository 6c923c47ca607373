"""Weights of the built-in models: which there are, where they come from, and where they lie."""

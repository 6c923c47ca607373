"""Doubles and worlds for tests of plugins: nothing that runs for people imports this."""

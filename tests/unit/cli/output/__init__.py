"""The command line, part by part; journeys through the real program are in tests/journey."""

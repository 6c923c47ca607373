"""The api channel over a real socket, on the real engine."""

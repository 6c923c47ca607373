"""Programs of the owner that hear what happens: each in a folder of its own, out of process."""

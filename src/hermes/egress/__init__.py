"""HTTP out of this process: the parts that all share, and the one client for others' URLs."""

"""HTTP/1.1 for the channels that are called: httptools reads, asyncio moves the bytes."""

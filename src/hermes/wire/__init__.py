"""HTTP and WebSocket clients for providers and channels: connections, TLS, proxies, limits."""

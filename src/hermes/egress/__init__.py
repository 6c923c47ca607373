"""Fetch untrusted URLs without SSRF: check the URL, resolve it once, connect by address."""

"""Tests of the local channel."""

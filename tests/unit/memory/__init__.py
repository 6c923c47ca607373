"""Tests of what is remembered."""

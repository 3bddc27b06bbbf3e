"""Benchmarks: each prints what it measured beside what others need for the same work."""

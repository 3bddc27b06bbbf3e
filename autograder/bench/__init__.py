"""Benchmarks that compare the course's tools with others on the same work."""

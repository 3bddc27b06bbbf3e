"""Executes submissions: two isolated processes each, and a supervisor."""

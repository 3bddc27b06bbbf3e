"""Executes one submission: two processes, their walls, and the one that supervises them."""

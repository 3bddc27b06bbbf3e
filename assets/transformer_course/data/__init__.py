"""Data that lessons generate instead of download: seeded, small, a module for each kind."""

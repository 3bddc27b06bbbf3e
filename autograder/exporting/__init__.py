"""Grades as the files that other programs take."""

"""Where a student stands: which checks of a lesson, and of the course, have passed."""

from transformer_course.progress.view import show_progress

__all__ = ["show_progress"]

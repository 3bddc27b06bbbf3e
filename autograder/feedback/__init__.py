"""Feedback pages for students: nbgrader's feedback, with a verdict on each check.

`page` configures nbgrader's converter; `sanitized` and `formulas` turn untrusted notebooks into
HTML that runs no scripts and loads nothing.
"""

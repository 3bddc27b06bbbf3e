"""The page that a student learns from: nbgrader's feedback, with a verdict on each check.

`page` is what nbgrader's converter is given; `sanitized` and `formulas` turn what strangers wrote
into HTML that runs nothing and loads nothing.
"""

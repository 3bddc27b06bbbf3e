"""The student's work and its tests in two processes, with nothing but data between them.

`student_side` runs the student's cells and does with their work what it is asked; it is never
sent a test. `test_side` gives check cells stand-ins for that work. `wire` is what crosses.
"""

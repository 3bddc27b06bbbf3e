"""The student's work and its tests in two processes, with nothing but data between them.

`student_side` runs the student's cells and does with their work what it is asked; it is never
sent a test. `test_side` gives check cells proxies of that work. `messages` are what crosses, and
PROTOCOL.md explains them. Only this folder is visible in the sandbox.
"""

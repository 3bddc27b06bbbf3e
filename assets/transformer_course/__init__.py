"""The course kit: what the lessons of *Transformers, from the dot product up* import.

`checks` tells a student which mistake was made, `figures` draws the pictures.
Nothing in here solves an exercise.
"""

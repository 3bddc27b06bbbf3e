"""The course kit: what the lessons of *Transformers, from the dot product up* import.

`checks` explain which mistake was made, `figures` draw the lessons' figures, and `widgets` show
live views. The kit contains no solutions.
"""

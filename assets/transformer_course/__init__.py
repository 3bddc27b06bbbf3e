"""The course kit: what the lessons of *Transformers, from the dot product up* import.

`checks` explain which mistake was made, `data` generates what models learn from, `figures` draw the
lessons' figures, `widgets` show live views, and `progress` shows which checks have passed. The kit
contains no solutions.
"""

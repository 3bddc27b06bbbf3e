"""From whatever was handed in to a notebook whose cells are known."""

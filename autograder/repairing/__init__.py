"""From whatever was handed in to a notebook that can be graded."""

"""A class: what it handed in, what that earned, and where both are kept."""

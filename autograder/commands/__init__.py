"""The command line's commands: what each takes, and what it says."""

"""Which claims of the checks have held since Python started."""

# (exercise, title) -> whether it held when it was checked last
OUTCOMES: dict[tuple[str, str], bool] = {}

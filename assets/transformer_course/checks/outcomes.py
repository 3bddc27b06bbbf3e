"""Which claims of the checks have held since Python started."""

# (exercise, title) -> whether it held when it was checked last
OUTCOMES: dict[tuple[str, str], bool] = {}


def holds(exercise: str) -> bool:
    """Whether an exercise was checked, and all that was checked of it held."""
    outcomes = [held for (name, _), held in OUTCOMES.items() if name == exercise]
    return bool(outcomes) and all(outcomes)

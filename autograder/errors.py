"""What a person can put right: the root of all errors that end a command in a line or two."""


class CourseError(Exception):
    """What is wrong and, where it is not part of that sentence, how to fix it."""

    exit_code = 1

    def __init__(self, what: str, fix: str = "") -> None:
        super().__init__(what, fix)
        self.what, self.fix = what, fix

    def __str__(self) -> str:
        return f"{self.what}: {self.fix}" if self.fix else self.what

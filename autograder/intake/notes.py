"""What a person should know of a student's files, in few lines however many files there are."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

NAMED = 3  # files in one note


@dataclass
class Notes:
    """What a person should know of a submission; files of which the same is said, in one line."""

    _files: dict[str, list[str]] = field(default_factory=lambda: defaultdict(list))
    said: list[str] = field(default_factory=list)

    def add(self, why: str, file: str) -> None:
        """Say something of a file, such as `refused: it is a link`."""
        self._files[why].append(file)

    def lines(self) -> list[str]:
        """All of them."""
        return [f"{listed(files)} {why}" for why, files in self._files.items()] + self.said


def listed(files: Sequence[str]) -> str:
    """Files by their names, the first few of many."""
    named = ", ".join(f"`{file}`" for file in files[:NAMED])
    return f"{named} and {len(files) - NAMED:,} more" if len(files) > NAMED else named

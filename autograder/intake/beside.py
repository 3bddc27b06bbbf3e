"""The files that come along with a notebook: what every disk can hold side by side."""

from collections.abc import Callable, Iterable
from pathlib import PurePosixPath

from autograder.intake.archive import Rejected
from autograder.intake.errors import pass_on

BESIDE = 10 << 20  # bytes of other files that may lie beside a notebook
MOST = 4_000  # files and folders: in the sandbox, a submission may make 4,096
LONGEST_NAME, LONGEST_PATH, DEEPEST = 255, 1_024, 32  # bytes, bytes, folders
OWN_NAME = "a name of nbgrader's own"
TAKEN = "another file or folder has this name, or one that some disks take for the same"
TOO_MANY = f"over {MOST:,} files and folders beside the notebook"
TOO_LARGE = f"over {BESIDE >> 20} MB beside the notebook"
TOO_LONG = "its name is too long for a disk"


class Beside:
    """Files by their paths from the notebook's folder on, as many as there is room for.

    `same` says the same of two names that may not lie side by side; `own` are names that no file
    may have in the notebook's folder.
    """

    def __init__(self, own: Iterable[str] = (), same: Callable[[str], str] = str) -> None:
        self.files: dict[str, bytes] = {}
        self._same = same
        self._own = {same(name) for name in own}
        self._taken: dict[str, bool] = {}  # whether it is a folder
        self._room = BESIDE

    def add(self, name: str, size: int, read: Callable[[], bytes]) -> str:
        """Take a file along; say why not, if it is left out. `OSError`: the disk, not the file."""
        path = PurePosixPath(name)
        above = [self._same(str(each)) for each in path.parents][:-1]
        called = self._same(name)
        why = self._why_not(path, called, above, size)
        if why:
            return why
        try:
            data = read()
        except Rejected as refusal:
            return str(refusal)
        except OSError as error:
            pass_on(error)
            return error.strerror or str(error)
        if len(data) > self._room:
            return TOO_LARGE
        self._room -= len(data)
        self._taken |= dict.fromkeys(above, True) | {called: False}
        self.files[name] = data
        return ""

    def _why_not(self, path: PurePosixPath, called: str, above: list[str], size: int) -> str:
        lengths = [len(part.encode(errors="surrogateescape")) for part in path.parts]
        if self._same(path.parts[0]) in self._own:
            return OWN_NAME
        if (
            max(lengths) > LONGEST_NAME
            or sum(lengths) + len(lengths) > LONGEST_PATH
            or len(lengths) > DEEPEST
        ):
            return TOO_LONG
        if called in self._taken or not all(self._taken.get(each, True) for each in above):
            return TAKEN
        if len(self._taken) + 1 + sum(each not in self._taken for each in above) > MOST:
            return TOO_MANY
        return TOO_LARGE if size > self._room else ""

"""Write a lesson's autograder as the zip that Gradescope takes."""

import tempfile
import zipfile
from collections.abc import Iterator
from pathlib import Path

from autograder import paths
from autograder.authoring.lesson import Lesson
from autograder.gradebook.classroom import Classroom
from autograder.gradebook.release import release
from autograder.gradescope.settings import LESSON, Settings, as_json

SCRIPTS = ("setup.sh", "run_autograder")  # at the root of the zip, where Gradescope looks
CODE = "course"  # beside them: what of this checkout grades
TOP = ("Makefile", "README.md", "LICENSE", "pyproject.toml", "constraints.txt")
# solutions and answers stay at home, and whatever a class has handed in
LEFT_OUT = {"answers", "bench", "classroom", "reports", "tests", "__pycache__"}
LONG_AGO = (1980, 1, 1, 0, 0, 0)  # so that the same lesson gives the same zip


def write(lesson: Lesson, settings: Settings, to: Path) -> None:
    """Write the zip, whole or not at all."""
    with tempfile.TemporaryDirectory() as folder:
        # the gradebook's own words for each cell, as `grade` has them
        classroom = Classroom.open(Path(folder))
        release(classroom, lesson)
        released = classroom.released(lesson.name)
    with (
        paths.atomic_write(to) as part,
        zipfile.ZipFile(part, "w", zipfile.ZIP_DEFLATED) as archive,
    ):
        for name in SCRIPTS:
            _add(archive, name, (Path(__file__).parent / name).read_bytes(), 0o755)
        _add(archive, LESSON, as_json(settings, released).encode())
        for path in code():
            _add(archive, f"{CODE}/{path.relative_to(paths.ROOT)}", path.read_bytes())


def code() -> Iterator[Path]:
    """The files of this checkout that grading needs, in order."""
    yield from (paths.ROOT / name for name in TOP)
    for top in (paths.COURSE.kit, Path(__file__).parents[1]):
        for path in sorted(top.rglob("*")):
            if path.is_file() and not LEFT_OUT & {*path.relative_to(top).parts[:-1]}:
                yield path


def _add(archive: zipfile.ZipFile, name: str, data: bytes, mode: int = 0o644) -> None:
    entry = zipfile.ZipInfo(name, LONG_AGO)
    entry.external_attr = mode << 16
    entry.compress_type = zipfile.ZIP_DEFLATED
    archive.writestr(entry, data)

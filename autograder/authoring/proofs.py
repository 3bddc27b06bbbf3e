"""What was proven last, and from what: a proof is repeated when anything it rests on changes.

`reports/proofs.json` holds a digest for each lesson and each kind of proof. It is kept under
version control, so that a fresh clone need not repeat what its author's machine has proven.
"""

import dataclasses
import hashlib
import json
import re
from collections.abc import Iterable
from importlib.metadata import version
from pathlib import Path

from filelock import FileLock

from autograder import paths
from autograder.authoring.answer_bank import read_answers
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import (
    code_of,
    graded_cells,
    source_notebook,
    student_version,
)

BANK = "answers bank"
# What confines a submission, but decides no verdict: tests of the sandbox and of students' habits
# hold that honest code runs in it.
CONFINING = {"cgroups.py", "confine.py", "landlock.py", "sandbox.py", "system_calls.py"}


def fits(kind: str, lesson: Lesson, digest: str) -> bool:
    """Whether this was proven of the lesson as it is now."""
    return _proofs(lesson).get(lesson.name, {}).get(kind) == digest


def keep(kind: str, lesson: Lesson, digest: str) -> None:
    """Note that this is proven."""
    # several processes prove at the same time
    with FileLock(lesson.course.reports / ".proofs.lock"):
        proofs = _proofs(lesson)
        proofs.setdefault(lesson.name, {})[kind] = digest
        text = json.dumps(proofs, indent=2, sort_keys=True)
        paths.write(_file(lesson), f"{text}\n")


def digest_of_bank(lesson: Lesson) -> str:
    """All that decides about the verdicts on a lesson's answers, and the report of them."""
    source = source_notebook(lesson)
    cells = [
        {name: cell.source for name, cell in graded_cells(notebook).items()}
        for notebook in (source, student_version(source))
    ]
    points = {check.grade_id: check.points for check in lesson.of("check")}
    later = {cell.name: lesson.dependents(cell.name) for cell in lesson.of("exercise")}
    answers = read_answers(lesson.bank, lesson)
    course, package = lesson.course, lesson.course.root / "autograder"
    programs = (package / "execution").rglob("*.py")
    execution = [file for file in programs if file.name not in CONFINING]
    authoring = [package / "authoring" / f"{name}.py" for name in ("prove", "report")]
    return digest(
        [cells, points, later, [*map(dataclasses.astuple, answers)], versions("torch", "numpy")],
        [
            *execution,
            *authoring,
            course.kit / "failure.py",
            *(course.kit / "checks").rglob("*.py"),
            course.misconceptions / f"{lesson.name}.jsonl",
            course.reports / f"{lesson.name}.md",
        ],
    )


def digest_of_execution(lesson: Lesson, *files: Path) -> str:
    """All that decides about what a lesson does when it is executed."""
    code = code_of(source_notebook(lesson))
    run = [versions("torch", "numpy", "matplotlib"), code]
    return digest(run, [*kit_behind(lesson, code), *files])


def kit_behind(lesson: Lesson, cells: list[str]) -> list[Path]:
    """The kit's programs, without the views and the data that the cells' code does not name.

    No view uses another, nor do data. A view may be in several files, `KIND.PART.js` and
    `KIND_PART.py`; then it uses `layers.js` too. No misconceptions: what is said of a check that
    fails changes nothing that runs.
    """
    code = "".join(cells)
    kit = sorted(f for f in lesson.course.kit.rglob("*") if f.suffix in (".py", ".js", ".css"))
    texts = {f.stem: f.read_text(encoding="utf-8") for f in kit if f.suffix == ".py"}
    shows = {stem: re.findall(r"(?m)^def (show_\w+)\(", text) for stem, text in texts.items()}
    views = [stem for stem, names in shows.items() if f"show_{stem}" in names]
    data = [f.stem for f in kit if f.parent.name == "data" and f.stem != "__init__"]
    unseen = {view for view in views if not any(f"{name}(" in code for name in shows[view])}
    further = {f.stem.split(".")[0] for f in kit if "." in f.stem}
    left_out = {"widgets/__init__", *(f"widgets/{view}" for view in unseen)}
    parts = tuple(f"{view}_" for view in further & unseen)
    left_out |= {f"widgets/{stem}" for stem in texts if stem.startswith(parts)}
    left_out |= {"widgets/layers"} if further <= unseen else set()
    left_out |= {"data/__init__", *(f"data/{name}" for name in data if f"data.{name} " not in code)}
    return [f for f in kit if f"{f.parent.name}/{f.stem.split('.')[0]}" not in left_out]


def digest(values: list, files: Iterable[Path]) -> str:
    """A short digest of values and of files, each by its name."""
    found = hashlib.sha256(json.dumps(values).encode())
    for file in sorted(files):
        found.update(b"\0" + file.name.encode() + b"\0")
        found.update(file.read_bytes() if file.exists() else b"")
    return found.hexdigest()[:16]


def versions(*packages: str) -> list[str]:
    """Their versions, without what says how they were built."""
    return [f"{package}=={version(package).split('+')[0]}" for package in packages]


def _file(lesson: Lesson) -> Path:
    return lesson.course.reports / "proofs.json"


def _proofs(lesson: Lesson) -> dict[str, dict[str, str]]:
    file = _file(lesson)
    return json.loads(file.read_text(encoding="utf-8")) if file.exists() else {}

"""The check cells in which students see claims, as the kit's view of their progress lists them."""

import ast
import json
from collections.abc import Iterator

from nbformat import NotebookNode

from autograder import paths
from autograder.authoring.lesson import Lesson
from autograder.authoring.notebook import graded_cells


def listed_checks(lesson: Lesson, student: NotebookNode) -> str:
    """Each check with its points and its claims, as JSON; `student`: the student's notebook."""
    visible = graded_cells(student)
    claims = {
        check.name: [*_claims(visible[check.grade_id].source)] for check in lesson.of("check")
    }
    rows = [
        {"name": check.name, "points": check.points, "claims": claims[check.name]}
        for check in lesson.of("check")
        if claims[check.name]
    ]
    stored = {
        "generated": f"from {paths.display_path(lesson.path)}: never edit",
        "title": lesson.title,
        "read_by_a_person": sum(cell.points or 0 for cell in lesson.of("answer")),
        "checks": rows,
    }
    return json.dumps(stored, ensure_ascii=False, indent=1) + "\n"


def _claims(source: str) -> Iterator[tuple[str, str]]:
    """Exercise and title of each `Check(…)`; a title that the cell completes ends in …."""
    for node in ast.walk(ast.parse(source)):
        match node:
            case ast.Call(func=ast.Name("Check"), args=[ast.Constant(str(exercise)), title, *_]):
                yield exercise, _constant(title)


def _constant(title: ast.expr) -> str:
    match title:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr([ast.Constant(str(beginning)), *_]):
            return f"{beginning}…"
    return "…"

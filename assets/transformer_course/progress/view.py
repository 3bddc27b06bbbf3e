"""The view of a student's progress: this lesson check by check, and the course by its lessons."""

import html

from IPython.core.getipython import get_ipython
from IPython.display import display

from transformer_course.checks.outcomes import OUTCOMES
from transformer_course.progress import kept
from transformer_course.progress.states import LessonChecks, State, lesson_checks

SIGNS = {State.PASSED: "✓", State.FAILED: "✗", State.NOT_TRIED: "·"}
COLOURS = {State.PASSED: "#0072B2", State.FAILED: "#D55E00", State.NOT_TRIED: "#888888"}
HIDDEN = "The grader's hidden tests ask more: other sizes, scales and dtypes."


def show_progress(lesson: str) -> None:
    """Show which checks of `lesson` have passed, failed or not been tried, and keep it in a file.

    `lesson`: the notebook's name, such as `04_layer_norm`. A check that has not run since the
    kernel started keeps the state that the file has of it. Outside a notebook nothing is shown.
    """
    checks = lesson_checks(lesson)
    if not hasattr(get_ipython(), "kernel"):  # a grader's shell: no student reads this there
        return
    file, notes = kept.progress_file(), [HIDDEN, kept.advice()]
    try:
        course = kept.load(file)
    except OSError as error:
        course, notes = {}, [*notes, f"{file} cannot be read: {error.strerror}."]
    before = course.get(lesson, {})
    now = checks.states(OUTCOMES)
    course[lesson] = {
        name: before.get(name, state) if state == State.NOT_TRIED else state
        for name, state in now.items()
    }
    try:
        kept.save(file, course)
    except OSError as error:
        notes.append(f"Your progress is not kept: {file}: {error.strerror}.")
    display(Progress(checks, course, lesson, [note for note in notes if note]))


class Progress:
    """What `show_progress` shows, as HTML and as text."""

    def __init__(
        self, checks: LessonChecks, course: kept.States, lesson: str, notes: list[str]
    ) -> None:
        self.checks, self.states, self.notes = checks, course[lesson], notes
        self.others = {name: states for name, states in course.items() if name != lesson}

    def __repr__(self) -> str:
        rows = [f"{SIGNS[State(s)]} {s:10}{n}" for n, s in self._known().items()]
        return "\n".join([self._sum(), *rows, *self._course(), *self.notes])

    def _repr_html_(self) -> str:
        rows = "".join(
            f'<tr><td style="text-align: left">{_sign(state)} {state}</td>'
            f'<td style="text-align: left"><code>{html.escape(name)}</code></td></tr>'
            for name, state in self._known().items()
        )
        told = "".join(f"<p>{html.escape(text)}</p>" for text in [*self._course(), *self.notes])
        return (
            f"<div><p><b>{html.escape(self._sum())}</b></p>"
            f"<table><thead><tr><th>state</th><th>check</th></tr></thead>"
            f"<tbody>{rows}</tbody></table>{told}</div>"
        )

    def _known(self) -> dict[str, State]:
        """Each check of the lesson with its state; a file that somebody edited may hold others."""
        found = {check.name: self.states.get(check.name, "") for check in self.checks.checks}
        return {n: State(s) if s in set(State) else State.NOT_TRIED for n, s in found.items()}

    def _sum(self) -> str:
        passed, points = self.checks.points(self._known())
        read = self.checks.read_by_a_person
        person = f", and a person reads your answer for {read:g} more" if read else ""
        return f"{self.checks.title}: your checks see {passed:g} of {points:g} points{person}."

    def _course(self) -> list[str]:
        """A line for each other lesson that was tried."""
        lines = []
        for name, states in sorted(self.others.items()):
            try:
                checks = lesson_checks(name)
            except ValueError:
                continue  # a lesson of another version of the course
            passed, points = checks.points(states)
            lines.append(f"{checks.title}: {passed:g} of {points:g} points")
        return lines


def _sign(state: State) -> str:
    # the colour is the sign's alone, so that the word is readable on every ground
    return f'<span style="color: {COLOURS[state]}; font-weight: bold">{SIGNS[state]}</span>'

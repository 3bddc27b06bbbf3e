"""The answers banks: large enough, judged justly, and a prover that sees when they are not."""

import dataclasses
import linecache
import random
from collections import Counter

import numpy as np
import pytest
import torch
from transformer_course.checks import CheckFailed

from autograder.authoring import proofs
from autograder.authoring.answer_bank import Answer, read_answers
from autograder.authoring.lesson import AuthoringError, Lesson, all_lessons, read_lesson
from autograder.authoring.notebook import graded_cells, source_notebook, student_version
from autograder.authoring.prove import BankRunner
from autograder.commands import cli
from autograder.paths import COURSE, Course
from autograder.tests.support.proven import proof

LESSONS = all_lessons()
each_lesson = pytest.mark.parametrize("path", LESSONS, ids=lambda path: path.stem)


@pytest.fixture(scope="module")
def bench():
    with BankRunner(read_lesson(COURSE.solutions / "01_dot_product_attention.py")) as bench:
        yield bench


@each_lesson
def test_the_bank_proves_the_lesson_and_the_kept_report_is_true(path, capsys, tmp_path, everything):
    lesson = read_lesson(path)
    kept = COURSE.reports / f"{path.stem}.md"
    with proof(proofs.BANK, lesson, proofs.digest_of_bank(lesson), again=everything):
        # the same lesson and bank, whose report is written elsewhere
        course = Course(tmp_path)
        course.reports.mkdir(parents=True)
        course.solutions.symlink_to(COURSE.solutions)
        course.answers.symlink_to(COURSE.answers)
        with pytest.raises(SystemExit) as ended:
            cli.main(["prove", path.stem], course)
        report = capsys.readouterr().out
        assert ended.value.code == 0, report
        assert "0 judged unjustly" in report
        assert (course.reports / kept.name).read_text() == kept.read_text()


@each_lesson
def test_each_exercise_has_enough_answers(path):
    lesson = read_lesson(path)
    answers = read_answers(COURSE.answers / path.name, lesson)
    wrong = Counter(answer.exercise for answer in answers if not answer.right)
    right = Counter(answer.exercise for answer in answers if answer.right)
    for exercise in lesson.of("exercise"):
        assert wrong[exercise.name] >= 8
        assert right[exercise.name] >= 4


def told_beside(lesson: Lesson, answer: Answer) -> str:
    """What the first visible check that fails says in the process of the answer, as a notebook."""
    source = source_notebook(lesson)
    student = graded_cells(student_version(source))
    place = f"exercise_{answer.exercise}"
    work = [
        answer.source if name == place else cell.source
        for name, cell in graded_cells(source).items()
        if name == place or name.startswith(("exercise_", "given_"))
    ]
    namespace: dict = {}
    random.seed(0)
    np.random.seed(0)
    torch.manual_seed(0)
    for number, cell in enumerate(work):
        _run(cell, f"<{lesson.name}, {number}>", namespace)
    for check in lesson.checks_of(answer.exercise):
        try:
            _run(student[check.grade_id].source, f"<{check.grade_id}>", namespace)
        except CheckFailed as failed:
            return str(failed)
    return ""


def is_plain(source: str) -> bool:
    """Whether it is Python, without IPython's magics."""
    try:
        compile(source, "<answer>", "exec")
    except SyntaxError:
        return False
    return True


def _run(source: str, name: str, namespace: dict) -> None:
    source = source.lstrip()  # so does IPython
    linecache.cache[name] = (len(source), None, source.splitlines(keepends=True), name)
    exec(compile(source, name, "exec"), namespace)


@each_lesson
def test_a_wrong_answer_to_each_exercise_is_told_the_same_apart_as_beside(path, everything):
    lesson = read_lesson(path)
    answers = read_answers(COURSE.answers / path.name, lesson)
    wrong = [a for a in answers if not a.right and is_plain(a.source)]
    first = {answer.exercise: answer for answer in reversed(wrong)}
    with proof("told beside", lesson, proofs.digest_of_bank(lesson), again=everything):
        with BankRunner(lesson) as bench:
            apart = list(bench.each(bench.judge, first.values()))
        for verdict in apart:
            message = verdict.visible.message if verdict.visible else ""
            assert message.removeprefix("CheckFailed: ") == told_beside(lesson, verdict.answer)


SOFTMAX = "def softmax(scores, dim):\n    return torch.softmax(scores, {dim})"


@pytest.mark.parametrize(
    ("right", "dim", "just"), [(True, "dim", True), (False, "dim", False), (True, "0", False)]
)
def test_unjust_verdicts_are_seen(bench, right, dim, just):
    verdict = bench.judge(Answer("softmax", "tried", right, SOFTMAX.format(dim=dim), ""))
    assert verdict.just is just


def test_a_stub_must_earn_nothing_and_what_it_costs_others_is_counted(bench):
    first = bench.judge(bench.stub("softmax"))
    assert (first.just, first.kept) == (True, 0)
    # similarity_attention, both parts of attention, and two repairs are built on it
    assert first.spilled == 2 + 4 + 1 + 1
    solved = dataclasses.replace(bench.solution("softmax"), right=False, untouched=True)
    assert not bench.judge(solved).just
    assert bench.judge(bench.solution("flying_output")).spilled == 0


def test_a_misconception_is_named_by_the_visible_check(bench):
    source = (
        "def scaled_dot_product_attention(query, key, value):\n"
        "    weights = softmax(query @ key.transpose(-2, -1), dim=-1)\n"
        "    return weights @ value, weights\n"
    )
    verdict = bench.judge(Answer("scaled_dot_product_attention", "tried", False, source, ""))
    assert verdict.visible
    assert "looks like" in verdict.visible.message
    assert "√d_k" in verdict.visible.message
    assert verdict.named
    assert not bench.judge(dataclasses.replace(verdict.answer, says="Something else.")).named


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "def softmax(scores, dim):\n    import os\n    os._exit(0)",
            "the answer's process ended: exit code 0",
        ),
        ("def softmax(scores, dim)\n    return scores", "does not exist yet"),
        ("def softmax(scores, dim):\n    return softmax(scores, dim)", "RecursionError"),
    ],
)
def test_an_answer_that_breaks_the_process_loses_its_points_only(bench, source, message):
    verdict = bench.judge(Answer("softmax", "tried", False, source, ""))
    assert verdict.kept == 0
    assert verdict.visible
    assert message in verdict.visible.message


def test_another_bank_is_proven_and_a_miss_ends_in_exit_code_1(tmp_path, capsys):
    bank = tmp_path / "01_dot_product_attention.py"
    bank.write_text(f"# %% wrong softmax none\n# Nothing is wrong.\n{SOFTMAX.format(dim='dim')}\n")
    with pytest.raises(SystemExit) as ended:
        cli.main(["prove", "01", "--answers", str(tmp_path)])
    assert ended.value.code == 1
    assert "softmax none: wrong, but keeps all 2 points" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("text", "what", "fix"),
    [
        (
            "# %% wrong sofmax x\n# Says.\n1",
            "no exercise `sofmax`",
            "softmax, similarity_attention",
        ),
        ("# %% wrong softmax\n# Says.\n1", "no title", "wrong EXERCISE NAME"),
        ("# %% wrong softmax x\ny = 1", "does not say what is wrong", "begin the cell with"),
        ("# %% right softmax x\n1\n\n# %% right softmax x\n2", "is defined twice", "another name"),
    ],
)
def test_a_mistake_in_a_bank_names_line_and_fix(tmp_path, text, what, fix):
    bank = tmp_path / "bank.py"
    bank.write_text(text)
    lesson = read_lesson(COURSE.solutions / "01_dot_product_attention.py")
    with pytest.raises(AuthoringError) as stopped:
        read_answers(bank, lesson)
    assert what in str(stopped.value)
    assert fix in str(stopped.value)

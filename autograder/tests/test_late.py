"""Handed in late: the due date, what it costs, and where it shows."""

import csv
from datetime import UTC, datetime
from typing import Any

import pytest
from dateutil import tz

from autograder.gradebook import late
from autograder.gradebook.classroom import SETTINGS, Classroom
from autograder.gradebook.late import LatePolicy

DAY = 24 * 60 * 60
POLICY = """
c.AssignLatePenalties.plugin_class = "autograder.gradebook.late.LatePolicy"
c.LatePolicy.percent_per_day = 10
c.LatePolicy.grace_days = 1
"""
DUE = "2026-09-02 14:00 +0200"  # 12:00 in UTC


@pytest.mark.parametrize(
    ("policy", "seconds", "lost"),
    [
        ({}, 9 * DAY, None),
        ({"percent_per_day": 10}, 1, 2.0),
        ({"percent_per_day": 10}, DAY, 2.0),
        ({"percent_per_day": 10}, DAY + 1, 4.0),
        ({"percent_per_day": 10}, 30 * DAY, 20.0),
        ({"points_per_day": 3}, 2 * DAY, 6.0),
        ({"points_per_day": 3, "percent_per_day": 10}, DAY, 5.0),
        ({"points_per_day": 3, "grace_days": 1}, DAY, None),
        ({"points_per_day": 3, "grace_days": 1}, DAY + 1, 3.0),
        ({"points_per_day": 3, "grace_days": 0.5}, DAY, 3.0),
        ({"last_day": 2}, 2 * DAY, None),
        ({"last_day": 2}, 2 * DAY + 1, 20.0),
    ],
)
def test_what_a_day_costs(policy, seconds, lost):
    """Of 20 points."""
    assert LatePolicy(**policy).late_submission_penalty("ada", 20.0, seconds) == lost


@pytest.mark.parametrize(
    ("told", "utc"),
    [
        ("2027-01-15 23:59 Europe/Paris", datetime(2027, 1, 15, 22, 59)),
        ("2027-07-15 23:59 Europe/Paris", datetime(2027, 7, 15, 21, 59)),
        ("2027-01-15 23:59 -0500", datetime(2027, 1, 16, 4, 59)),
        ("2027-01-15T23:59:30Z", datetime(2027, 1, 15, 23, 59, 30)),
    ],
)
def test_a_due_date_that_is_typed(told, utc):
    due = late.due(told)
    assert due is not None
    assert late.in_utc(due) == utc


def test_a_due_date_without_a_zone_is_this_computers():
    assert late.due("2027-01-15 23:59") == datetime(2027, 1, 15, 23, 59, tzinfo=tz.tzlocal())
    assert late.due("none") is None


@pytest.mark.parametrize(
    ("told", "why"),
    [
        ("tomorrow", "no date and time `tomorrow`: write it as `2027-01-15 23:59 Europe/Paris`"),
        ("2027-02-30 23:59", "no date and time `2027-02-30 23:59`: day is out of range for month"),
        ("2027-01-15 23:59 Narnia", "no time zone `Narnia`: write it as Europe/Paris or UTC"),
        ("2027-01-15 23:59 ../etc", "no time zone `../etc`: write it as Europe/Paris or UTC"),
    ],
)
def test_a_due_date_that_nobody_understands(small, told, why):
    assert small.types("release", "--due", told) == (1, why)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(30, "30 s"), (61, "2 min"), (3600, "1 h"), (DAY, "1 d"), (DAY + 1, "2 d")],
)
def test_how_late_is_told(seconds, shown):
    assert late.lateness(seconds) == shown


@pytest.fixture
def late_class(small):
    """ada is on time, bo a day late, cleo three days; a day costs 10 %, after one of grace."""
    with (small.folder / SETTINGS).open("a", encoding="utf-8") as settings:
        settings.write(POLICY)
    for student, time in {"ada": "02 12:00:00", "bo": "03 12:00:00", "cleo": "05 12:00:00"}.items():
        small.receives(student)
        path = small.file("submitted", student).with_name("timestamp.txt")
        path.write_text(f"2026-09-{time}.000000 UTC", encoding="utf-8")
    code, said = small.types("release", "--due", DUE)
    assert (code, "is due Wednesday, 2026-09-02 14:00" in said) == (0, True)
    assert "(2026-09-02 12:00 UTC)" in said
    return small


def scores(instructor) -> dict[str, tuple[float, float]]:
    """What is left, and what lateness cost, as `export` tells it."""
    assert instructor.types("export")[0] == 0
    with (instructor.folder / "grades.csv").open(newline="", encoding="utf-8") as file:
        rows = csv.DictReader(file)
        return {
            row["student_id"]: (float(row["score"]), float(row["late_submission_penalty"]))
            for row in rows
        }


def test_late_by_no_one_and_three_days(late_class, recorder):
    """Of 3 points: ada and bo keep all, cleo's two days beyond the grace cost 20 %."""
    code, said = late_class.types("grade")
    assert code == 0
    lines = [[cell.strip() for cell in line.split("│")[1:-1]] for line in said.splitlines()]
    assert [line for line in lines if len(line) == 7] == [
        ["ada", "3", "", "", "3", "3", "graded"],
        ["bo", "3", "1 d", "0", "3", "3", "graded"],
        ["cleo", "3", "3 d", "0.6", "2.4", "3", "graded"],
    ]
    assert scores(late_class) == {"ada": (3.0, 0.0), "bo": (3.0, 0.0), "cleo": (2.4, 0.6)}
    assert late_class.report()["cleo"]["penalty"] == 0.6
    assert late_class.report()["cleo"]["late"] == 3 * DAY


def test_nobody_is_late_without_a_due_date(late_class, recorder):
    _code, said = late_class.types("release", "--due", "none")
    assert "01_small has no due date" in said
    assert "penalty" not in late_class.types("grade")[1]
    assert scores(late_class)["cleo"] == (3.0, 0.0)


def test_releasing_again_keeps_the_due_date(late_class, recorder):
    late_class.types("release")
    late_class.types("grade")
    assert scores(late_class)["cleo"] == (2.4, 0.6)


def test_a_due_date_that_is_moved_moves_the_penalties(late_class, recorder):
    late_class.types("grade")
    _code, said = late_class.types("release", "--due", "2026-08-31 12:00 UTC")
    assert "01_small: the late penalty changed for ada, bo, cleo" in said
    assert recorder == ["ada", "bo", "cleo"]  # nothing is executed for it
    assert scores(late_class)["ada"] == (2.7, 0.3)


def test_a_policy_that_is_changed_counts_from_the_next_command_on(late_class, recorder):
    late_class.types("grade")
    settings = late_class.folder / SETTINGS
    settings.write_text(settings.read_text().replace("grace_days = 1", "grace_days = 0"))
    _code, said = late_class.types("export")
    assert "01_small: the late penalty changed for bo, cleo" in said
    assert scores(late_class)["bo"] == (2.7, 0.3)
    assert "costs something else" not in late_class.types("export")[1]


def test_a_penalty_follows_marks_that_were_given_by_hand(late_class, recorder):
    late_class.types("grade")
    with Classroom.open(late_class.folder).gradebook as gradebook:
        grade: Any = gradebook.find_grade("check_double", "01_small", "01_small", "cleo")
        grade.manual_score = 1.0  # of 2
        gradebook.db.commit()
    assert scores(late_class)["cleo"] == (1.6, 0.4)


def test_an_extension_counts(late_class, recorder):
    late_class.types("grade")
    with Classroom.open(late_class.folder).gradebook as gradebook:
        gradebook.grant_extension("01_small", "cleo", days=3)
    assert scores(late_class)["cleo"] == (3.0, 0.0)


def test_nbgraders_own_policy_counts_as_well(late_class, recorder):
    with (late_class.folder / SETTINGS).open("a", encoding="utf-8") as settings:
        settings.write(
            'c.AssignLatePenalties.plugin_class = "nbgrader.plugins.LateSubmissionPlugin"\n'
            'c.LateSubmissionPlugin.penalty_method = "zero"\n'
        )
    late_class.types("grade")
    assert scores(late_class) == {"ada": (3.0, 0.0), "bo": (0.0, 3.0), "cleo": (0.0, 3.0)}


def test_nbgrader_stores_the_due_date_in_utc(late_class):
    with Classroom.open(late_class.folder).gradebook as gradebook:
        assignment: Any = gradebook.find_assignment("01_small")
        assert assignment.duedate == datetime(2026, 9, 2, 12)
    assert datetime(2026, 9, 2, 12, tzinfo=UTC) == late.due(DUE)

"""When a lesson is due, and what it costs to hand it in late."""

import re
from datetime import UTC, datetime, tzinfo
from math import ceil
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from dateutil import parser as dates
from dateutil import tz
from nbgrader.plugins import LateSubmissionPlugin
from traitlets import Float

from autograder.errors import CourseError

DAY = 24 * 60 * 60  # seconds
NEVER = "none"


class LatePolicy(LateSubmissionPlugin):
    """Points or percent for each day that has begun, after some days of grace.

    nbgrader takes at least 0 and at most what was earned; extensions count before grace.
    """

    percent_per_day = Float(0.0, min=0.0, help="of what was earned").tag(config=True)
    points_per_day = Float(0.0, min=0.0, help="points").tag(config=True)
    grace_days = Float(0.0, min=0.0, help="days that cost nothing").tag(config=True)
    last_day = Float(
        float("inf"), min=0.0, help="days late, with those of grace, after which all is lost"
    ).tag(config=True)

    def late_submission_penalty(
        self, student_id: str, score: float, total_seconds_late: float
    ) -> float | None:
        """The points that this lateness costs; None if it costs nothing."""
        if total_seconds_late > self.last_day * DAY:
            return score
        days = ceil((total_seconds_late - self.grace_days * DAY) / DAY)
        lost = days * (self.points_per_day + self.percent_per_day * score / 100)
        # a tenth of 3 points is 0.3, not 0.30000000000000004
        return min(round(lost, 6), score) if lost > 0 else None


class NoTime(CourseError):
    """Why a time cannot be understood, and the fix, in one line."""


def zone(name: str = "") -> tzinfo:
    """A time zone by its name, such as Europe/Paris; this computer's, without a name."""
    if not name:
        return tz.tzlocal()
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise NoTime(f"no time zone `{name}`: write it as Europe/Paris or UTC") from None


def due(told: str) -> datetime | None:
    """A date and time that was typed, with a zone or in this computer's; None for `none`."""
    if told.strip().lower() == NEVER:
        return None
    found = re.fullmatch(r"(\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?) *(\S*)", told.strip())
    if not found:
        raise NoTime(f"no date and time `{told}`: write it as `2027-01-15 23:59 Europe/Paris`")
    offset = re.fullmatch(r"Z|[+-]\d\d:?\d\d", found[2])
    try:
        time = dates.isoparse(found[1].replace(" ", "T") + (found[2] if offset else ""))
    except ValueError as error:
        raise NoTime(f"no date and time `{told}`: {error}") from None
    return time if time.tzinfo else time.replace(tzinfo=zone(found[2]))


def in_utc(time: datetime) -> datetime:
    """A time as nbgrader stores it: UTC, and it does not say so."""
    return time.astimezone(UTC).replace(tzinfo=None)


def lateness(seconds: float) -> str:
    """How late, in the largest unit that fits, rounded up."""
    for unit, size in (("d", DAY), ("h", 3600), ("min", 60)):
        if seconds >= size:
            return f"{ceil(seconds / size)} {unit}"
    return f"{ceil(seconds)} s"

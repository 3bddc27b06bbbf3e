"""What a class is guarded against: two commands at a time, and a gradebook that is not its own."""

import getpass
import os
import platform
import sqlite3
import sys
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from typing import Any

from filelock import FileLock, Timeout
from nbgrader.api import Assignment, Gradebook, Student
from nbgrader.apps.api import NbGraderAPI
from sqlalchemy import (
    Column,
    MetaData,
    String,
    Table,
    create_engine,
    func,
    insert,
    make_url,
    select,
)
from sqlalchemy.exc import DatabaseError

from autograder import paths
from autograder.errors import CourseError

LOCK, HOLDER = ".lock", ".lock.holder"
CLASS_ID = "class_id.txt"  # beside the gradebook, which holds the same
# a table of ours in nbgrader's database, which nbgrader leaves alone
CLASS_IDS = Table(
    "transformer_course_class",
    MetaData(),
    Column("course", String(128), primary_key=True),
    Column("class_id", String(64), nullable=False),
)


LOCKED = "another program holds the gradebook", "close the formgrader, then run it again"
FULL = "No space left on device", "make room for the gradebook, then run it again"
# SQLite's codes for a gradebook that is sound, but cannot be used now
UNAVAILABLE = {sqlite3.SQLITE_BUSY: LOCKED, sqlite3.SQLITE_FULL: FULL}


class Refused(CourseError):
    """Why nothing was done, and the fix, in one line."""


@contextmanager
def opened(api: NbGraderAPI) -> Iterator[Gradebook]:
    """The gradebook; `Refused` if another program holds it, or its disk is full."""
    try:
        with api.gradebook as gradebook:
            yield gradebook
    except DatabaseError as error:
        if told := UNAVAILABLE.get(_sqlite_code(error)):
            raise Refused(*told) from error
        raise


def is_locked(api: NbGraderAPI) -> bool:
    """Whether another program holds the gradebook at this moment."""
    course: Any = api.coursedir
    try:
        with create_engine(course.db_url).connect() as connection:
            connection.exec_driver_sql("BEGIN IMMEDIATE")
    except DatabaseError as error:
        return _sqlite_code(error) == sqlite3.SQLITE_BUSY
    return False


def _sqlite_code(error: DatabaseError) -> int:
    """SQLite's primary result code; 0 from another database."""
    return getattr(error.orig, "sqlite_errorcode", 0) & 0xFF


@contextmanager
def held(folder: Path) -> Iterator[None]:
    """Hold the lock on the class in `folder`; `Refused` while another command holds it."""
    if not folder.is_dir():  # no class yet
        yield
        return
    lock, holder = FileLock(folder / LOCK), folder / HOLDER
    try:
        lock.acquire(timeout=0)
    except Timeout:
        who = holder.read_text(encoding="utf-8").strip() if holder.exists() else "another command"
        raise Refused(f"{who} is at work on this class", "run it again when that is done") from None
    with lock:
        command = " ".join(["autograder", *sys.argv[1:3]])
        here = f"process {os.getpid()} of {getpass.getuser()} on {platform.node()}"
        told = f"`{command}` ({here}, since {datetime.now():%H:%M})"
        paths.write(holder, f"{told}\n")
        try:
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()


def check_gradebook(api: NbGraderAPI, folder: Path) -> None:
    """`Refused` if the gradebook cannot be read, or is another class's."""
    path = folder / CLASS_ID
    own = path.read_text(encoding="utf-8").strip() if path.exists() else ""
    try:
        with opened(api) as gradebook:
            theirs = _class_id(gradebook)
            if not theirs and (not own or _is_empty(gradebook)):
                theirs = own = own or uuid.uuid4().hex
                row = {"course": gradebook.course_id, "class_id": own}
                gradebook.db.execute(insert(CLASS_IDS).values(row))
                gradebook.db.commit()
    except DatabaseError as error:
        why = str(error.orig or error).split("\n")[0]
        copy = "put a copy of it back, or move it away and release the lessons again"
        raise Refused(f"{_address(api)} is no sound gradebook ({why})", copy) from None
    if own != theirs:
        same = f"; if it is this one's after all, write {theirs} into {paths.display_path(path)}"
        told = f"{_address(api)} is another class's gradebook: put this one's back"
        raise Refused(told + same * bool(theirs))
    paths.write(path, f"{own}\n")


def _address(api: NbGraderAPI) -> str:
    """Where the gradebook is, without a password."""
    course: Any = api.coursedir
    address = make_url(course.db_url)
    return (
        paths.display_path(Path(address.database or ""))
        if address.drivername == "sqlite"
        else repr(address)
    )


def _class_id(gradebook: Gradebook) -> str:
    """The class that the gradebook belongs to; empty before the first release."""
    CLASS_IDS.create(gradebook.db.get_bind(), checkfirst=True)
    wanted = CLASS_IDS.c.course == gradebook.course_id
    return gradebook.db.scalar(select(CLASS_IDS.c.class_id).where(wanted)) or ""


def _is_empty(gradebook: Gradebook) -> bool:
    """Whether nothing was ever released."""
    tables: list[Any] = [Assignment, Student]
    return not any(gradebook.db.scalar(select(func.count()).select_from(t)) for t in tables)

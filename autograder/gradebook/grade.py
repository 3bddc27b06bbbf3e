"""Execute what was handed in, and record what it earns."""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError, Future
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace

from autograder.execution.executor import GraderError, Limits
from autograder.gradebook import pool, regrade
from autograder.gradebook.classroom import PREVIEW, Classroom, Submission
from autograder.gradebook.recorder import Recorder
from autograder.gradebook.result import Finished, State, Task
from autograder.gradebook.result_store import keep
from autograder.intake.released import Released

BATCH = 50  # results recorded in one transaction
FAILURES = 5  # of the grader's own, one after another: then it is no one submission's


@dataclass(frozen=True)
class ExecutionConfig:
    """How submissions are executed: where, how many at a time, within which limits."""

    limits: Limits = field(default_factory=Limits)
    jobs: int = 1
    scheduler: str = ""  # a Dask cluster's address; empty: on this machine
    sandboxed: bool = True

    def workers(
        self, as_released: Released, stopping: Callable[[], bool]
    ) -> AbstractContextManager[pool.Workers]:
        """Where they are executed."""
        setup = pool.Setup(as_released, self.limits, self.sandboxed)
        if self.scheduler:
            return pool.cluster(setup, self.scheduler)
        return pool.local(setup, self.jobs, stopping)


def grade(
    classroom: Classroom,
    lesson: str,
    submissions: Sequence[Submission],
    how: ExecutionConfig,
    stopping: Callable[[], bool] = lambda: False,
) -> Iterator[Finished]:
    """Grade these submissions of a lesson and record them; each comes out when it is finished.

    What was executed before, but not recorded, is recorded. Whatever ends this early, what came
    out is on the disk, and the same call goes on with the rest. `GraderError`: the grader's own
    fault; `OSError`: a full disk; `Refused`: a gradebook that is locked.
    """
    with Recorder(classroom, lesson) as recorder:
        executed = {each: _executed(each) for each in submissions}
        before = [finished for finished in executed.values() if finished]
        for start in range(0, len(before), BATCH):
            recorder.record(before[start : start + BATCH])
        yield from before
        todo = [each for each, finished in executed.items() if not finished]
        if todo:
            released = classroom.released(lesson)
            yield from _execute(released, todo, how, _settle, recorder.record, stopping)


def preview(
    classroom: Classroom,
    lesson: str,
    submissions: Sequence[Submission],
    how: ExecutionConfig,
    stopping: Callable[[], bool] = lambda: False,
) -> Iterator[Finished]:
    """Execute these submissions of a lesson, and record nothing: `grade` will, and runs no more.

    What is graded stays as it is, on the disk and in the gradebook.
    """
    todo = []
    for each in submissions:
        finished = regrade.known(each)
        if finished:
            each.let_go()
            _put_preview(each, finished)
            yield replace(finished, notebook="")
        else:
            todo.append(each)
    if todo:
        released = classroom.released(lesson)
        yield from _execute(released, todo, how, _put_preview, lambda batch: None, stopping)


def _executed(submission: Submission) -> Finished | None:
    """The stored result of a submission, if its files and its tests have not changed."""
    finished = submission.kept
    if finished and finished.key == submission.key:
        submission.let_go()
        return finished
    finished = regrade.known(submission)
    if finished is None:
        return None
    submission.let_go()
    _settle(submission, finished)
    return replace(finished, notebook="")


def _settle(submission: Submission, finished: Finished) -> None:
    """Keep a result that is to be recorded; no preview of it is needed any more."""
    keep(submission.path("autograded"), finished)
    submission.discard_preview()


def _put_preview(submission: Submission, finished: Finished) -> None:
    keep(submission.path(PREVIEW), finished)


def _execute(
    released: Released,
    submissions: Sequence[Submission],
    how: ExecutionConfig,
    put: Callable[[Submission, Finished], None],
    record: Callable[[list[Finished]], None],
    stopping: Callable[[], bool],
) -> Iterator[Finished]:
    batch: list[Finished] = []
    failures = 0  # one after another
    by_student = {each.student: each for each in submissions}
    tasks = (each.take() for each in submissions)
    with how.workers(released, stopping) as workers:
        try:
            for task, future in pool.stream(workers, tasks, stopping):
                finished = _outcome(task, future)
                failures = failures + 1 if finished.state == State.FAILED else 0
                if failures == FAILURES:
                    raise GraderError(finished.note)
                if finished.key:
                    by_student[task.student].key = finished.key
                if finished.notebook:
                    put(by_student[task.student], finished)
                    batch.append(finished)
                if len(batch) == BATCH:
                    # what cannot be recorded now is kept: the next run does it
                    full, batch = batch, []
                    record(full)
                yield finished
        finally:
            record(batch)


def _outcome(task: Task, future: Future[Finished]) -> Finished:
    """What became of a task; an error in the grader itself stops no other task."""
    try:
        return future.result()
    except CancelledError:
        raise GraderError(pool.GONE) from None
    except Exception as error:
        why = str(error) if isinstance(error, GraderError) else f"{type(error).__name__}: {error}"
        return Finished(task.student, "", State.FAILED, " ".join(why.split()))

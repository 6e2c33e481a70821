"""Read runs and write their staging files, in this process or in several worker processes."""

from __future__ import annotations

import contextlib
import gc
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field, fields, replace
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path
from typing import Any

from fcreview.model.item import ReadRecord, Run
from fcreview.run_plan import DependentParts, RunPart, RunPlan
from fcreview.store.database import move_objects_to_oldest_generation
from fcreview.store.importing.source_files import SourceFile, add_content_hash
from fcreview.store.importing.staging import SharedRowCache, StagedFile, StagedRun, stage_run
from fcreview.store.workspace import Workspace

_PR_SET_PDEATHSIG = 1  # option of prctl.h: send a signal when the parent ends


class ParentWatchdog:
    """Ends the worker processes of a pool when the parent process ends, even if the parent is
    killed.

    Only the parent keeps the writing end of a pipe open. A thread in each worker waits until the
    pipe closes, and then ends the worker. On Linux, the kernel also kills the workers, even a
    worker whose threads are blocked. Use the watchdog as a context manager, and pass
    `initialize_worker` and `initargs` to the pool.
    """

    def __init__(self, context: BaseContext) -> None:
        self._reading_end, self._writing_end = context.Pipe(duplex=False)
        forked = context.get_start_method() == "fork"
        self.initargs = (os.getpid(), self._reading_end, self._writing_end if forked else None)

    @staticmethod
    def initialize_worker(
        parent_pid: int, reading_end: Connection, writing_end: Connection | None
    ) -> None:
        """Start the watchdog thread in a worker, and close the writing end of the pipe that it
        may have inherited.
        """
        if writing_end is not None:
            writing_end.close()
        for each in (signal.SIGHUP, signal.SIGTERM):  # forked workers inherit the parent's handlers
            signal.signal(each, signal.SIG_DFL)
        # Ctrl-C reaches all processes, and the parent handles it
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        _set_parent_death_signal()
        if os.getppid() != parent_pid:  # the parent died before the signal was set
            os._exit(1)
        threading.Thread(
            target=_exit_when_pipe_closes, args=(reading_end,), daemon=True, name="parent-watchdog"
        ).start()

    def __enter__(self) -> ParentWatchdog:
        return self

    def __exit__(self, *_: object) -> None:
        self._close_pipe()

    @contextlib.contextmanager
    def end_workers_on_error(self, pool: ProcessPoolExecutor) -> Iterator[None]:
        """End the workers if the block raises an exception, so that the pool does not wait for
        their current tasks.
        """
        try:
            yield
        except BaseException:
            self._close_pipe()
            _close_writing_end_of_results(pool)
            raise

    def _close_pipe(self) -> None:
        self._writing_end.close()
        self._reading_end.close()


def _close_writing_end_of_results(pool: ProcessPoolExecutor) -> None:
    """Let the pool notice that no worker can send a result any more.

    A worker may end while it writes a result. The pool's thread waits for the rest of this result,
    and this process has a writing end of the pipe, too, so the thread would wait for ever. The pool
    has no public method for it. `test_worker_that_ends_while_it_sends_is_not_awaited` fails if the
    attributes change.
    """
    results = getattr(pool, "_result_queue", None)
    writing_end = getattr(results, "_writer", None)
    if writing_end is not None:
        writing_end.close()


def _exit_when_pipe_closes(reading_end: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        reading_end.recv_bytes()
    os._exit(1)


def _set_parent_death_signal() -> None:
    """Make Linux kill this worker process when the main process ends."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


RunReader = Callable[[RunPlan], Iterable[ReadRecord]]  # must be a top-level function, to be pickled
# called with (model, bytes read so far, total bytes)
ImportProgressCallback = Callable[[str, int, int], None]
_JobReader = Callable[["ReadJob", Callable[[int], None] | None], "ReadOutcome"]

WORKER_KILLED = "the worker process was killed, possibly because memory ran out"
# total size of result files, in bytes, below which one process is faster than several
MIN_PARALLEL_BYTES = 8_000_000


@dataclass(slots=True)
class ReadJob:
    """A run to read, or a part of it (`plan.part`)."""

    run_number: int
    plan: RunPlan
    # State before the run is read. A file that grows meanwhile is read again later. Each part of a
    # run has a share of its files, whose content it hashes.
    sources: list[SourceFile]

    @property
    def n_result_bytes(self) -> int:
        """Total size of the result and score files in bytes."""
        return sum(
            max(source.size, 0) for source in self.sources if source.kind in ("result", "score")
        )


@dataclass(slots=True)
class ReadOutcome:
    job: ReadJob
    info: Run  # the run, with the official metrics and the dataset that were found while reading
    sources: list[SourceFile] = field(default_factory=list)  # state of the files, with hashes
    staged: StagedRun | None = None  # the staging files; None if reading failed
    error: str | None = None  # why reading failed
    seconds: float = 0.0
    # The parts of the run depend on each other, so that it must be read as a whole.
    has_dependent_parts: bool = False
    # Function docs and questions that the parts of a run wrote before it failed or was read again
    # as a whole. Other runs of the same processes refer to them.
    other_shared_rows: list[StagedFile] = field(default_factory=list)


_shared_row_caches: dict[Path, SharedRowCache] = {}  # cache by the folder of the staging files
_known_hashes: dict[tuple[Path, str, int, int], str] = {}
"""Hashes of dataset files, by (folder of the staging files, stored path, size, modification
time).
"""


def read_and_stage_runs(
    workspace: Workspace,
    staging_folder: Path,
    jobs: Sequence[ReadJob],
    read_items: RunReader,
    n_workers: int | None,
    on_progress: ImportProgressCallback | None,
) -> Generator[ReadOutcome, None, None]:
    """Read runs in worker processes, and yield the outcome of each run as soon as it is complete.

    A very large run is divided into parts, which several processes read at the same time.

    The first `next` starts the worker processes. Call it before this process starts threads, so
    that forking is safe. While this process reads runs itself, `read_and_stage_run` fills caches of
    this module. They are emptied at the end.

    Args:
        workspace: The workspace.
        staging_folder: The folder for the files with the items.
        jobs: The runs to read.
        read_items: Runs the importer of a run.
        n_workers: Number of processes. With 1, this process reads the runs itself. If None, the
            size of the files determines the number.
        on_progress: Is told how much is read.
    """
    max_workers = _choose_n_workers(jobs) if n_workers is None else n_workers
    parts_by_run = _split_large_runs(jobs, max_workers)
    n_tasks = sum(len(parts_by_run.get(job.run_number, [job])) for job in jobs)
    n_used_workers = min(max_workers, n_tasks)
    read_job = partial(read_and_stage_run, workspace, staging_folder, read_items)
    report = on_progress or (lambda *_: None)
    try:
        if n_used_workers > 1:
            reading = _WorkerReading(read_job, jobs, parts_by_run, report)
            yield from reading.read(n_used_workers)
        else:
            yield from _read_in_this_process(read_job, jobs, report)
    finally:
        _shared_row_caches.pop(staging_folder, None)
        _known_hashes.clear()


def _choose_n_workers(jobs: Iterable[ReadJob]) -> int:
    """Return 1 for small files, because starting processes takes longer than reading them."""
    n_bytes = sum(job.n_result_bytes for job in jobs)
    if n_bytes <= MIN_PARALLEL_BYTES:
        return 1
    return os.cpu_count() or 1


def _split_large_runs(jobs: Sequence[ReadJob], n_workers: int) -> dict[int, list[RunPart]]:
    """Return the parts of each run that is larger than the share of one process, by run number.

    A run that cannot be divided is left out.
    """
    if n_workers < 2:
        return {}
    n_bytes = sum(job.n_result_bytes for job in jobs)
    share_bytes = max(n_bytes / n_workers, MIN_PARALLEL_BYTES)
    parts_by_run = {}
    for job in jobs:
        if job.n_result_bytes <= share_bytes or job.plan.split is None:
            continue
        parts: list[RunPart] = []
        with contextlib.suppress(Exception):  # reading the run as a whole reports the error
            parts = job.plan.split(job.plan)
        if len(parts) > 1:
            parts_by_run[job.run_number] = parts
    return parts_by_run


def read_and_stage_run(
    workspace: Workspace,
    staging_folder: Path,
    read_items: RunReader,
    job: ReadJob,
    on_progress: Callable[[int], None] | None,
) -> ReadOutcome:
    """Read one run with its importer, or a part of it, and write its items to staging files.

    If the importer raises an exception, the outcome has its message, so that the import continues
    with the other runs.
    """
    started = time.perf_counter()
    outcome = ReadOutcome(job, job.plan.run)
    # Each process writes function docs and questions that several runs share only once.
    cache = _shared_row_caches.setdefault(staging_folder, SharedRowCache())
    try:
        outcome.staged = stage_run(
            read_items(job.plan),
            job.run_number,
            _name_staging_files(job, staging_folder),
            workspace.to_stored_path,
            cache,
            on_progress,
        )
        outcome.sources = [
            _add_hash_from_cache(source, workspace, staging_folder) for source in job.sources
        ]
    except Exception as error:
        # The importer raises DependentParts if the run must be read as a whole, which is no error.
        outcome.has_dependent_parts = isinstance(error, DependentParts)
        outcome.error = _format_error(error)
        # The cache names rows in the staging files of this run, which is not loaded.
        cache.clear()

    # The importer may have changed the run while it read the items.
    outcome.info = job.plan.run
    if outcome.staged is not None:
        _add_facts_to_run(outcome.info, outcome.staged)
    outcome.seconds = time.perf_counter() - started
    # A worker sends the job back with its outcome, but the main process has the summaries.
    job.plan.part_summaries = None
    return outcome


def _name_staging_files(job: ReadJob, staging_folder: Path) -> Path:
    """Return the path, without endings, of the staging files of a run or of a part of it. Each
    process and part has a different path.
    """
    name = f"{job.run_number}-{os.getpid()}"
    if job.plan.part is not None:
        name += f"-{job.plan.part.index}"
    return staging_folder / name


def _add_facts_to_run(run: Run, staged: StagedRun) -> None:
    # The search for runs already knows some facts, such as how the dataset was chosen.
    new_facts = {fact.name: fact for fact in staged.facts}
    run.facts = run.facts | new_facts
    run.not_run = staged.not_run


def _initialize_reader(*watchdog_arguments: Any) -> None:
    """Prepare a worker process, which only reads runs until it ends."""
    ParentWatchdog.initialize_worker(*watchdog_arguments)
    # Else, examining the datasets and the objects of large runs takes a tenth of the time.
    gc.set_threshold(*READING_THRESHOLDS)


READING_THRESHOLDS = (50_000, 1_000_000, 1_000_000)
"""Thresholds with which the garbage collector examines only new objects."""


@contextlib.contextmanager
def _reduce_garbage_collection() -> Iterator[None]:
    """Let the garbage collector examine only new objects, also after the block. Otherwise, it would
    examine the cached datasets again and again, which takes 20 % of the reading time.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(*READING_THRESHOLDS)
    try:
        yield
    finally:
        gc.collect(generation=0)
        move_objects_to_oldest_generation()
        gc.set_threshold(*thresholds)


def _read_in_this_process(
    read_job: _JobReader, jobs: Sequence[ReadJob], report: ImportProgressCallback
) -> Iterator[ReadOutcome]:
    """Read runs one after the other in this process, and yield the outcome of each. `report` is
    called with the model, the bytes done and all bytes.
    """
    total = sum(job.n_result_bytes for job in jobs)
    done = 0
    for job in jobs:

        def report_bytes(n_bytes: int, job: ReadJob = job, done: int = done) -> None:
            report(job.plan.run.model, done + min(n_bytes, job.n_result_bytes), total)

        report_bytes(0)
        with _reduce_garbage_collection():
            outcome = read_job(job, report_bytes)
        yield outcome
        done += job.n_result_bytes
        report(job.plan.run.model, done, total)


class _WorkerReading:
    """Reads runs in worker processes, some of them in parts."""

    def __init__(
        self,
        read_job: _JobReader,
        jobs: Sequence[ReadJob],
        parts_by_run: Mapping[int, Sequence[RunPart]],
        report: ImportProgressCallback,
    ) -> None:
        """Prepare to read the runs. `report` is called with the model, the number of bytes read and
        the number of all bytes. The other arguments are explained in `read_and_stage_runs`.
        """
        self._read_job = read_job
        self._jobs = jobs
        self._report = report
        self._n_bytes = sum(job.n_result_bytes for job in jobs)
        self._n_done_bytes = 0.0
        self._split_runs: dict[int, _SplitRun] = {}
        for job in jobs:
            if job.run_number in parts_by_run:
                split = _SplitRun(job, parts_by_run[job.run_number])
                self._split_runs[job.run_number] = split

    def read(self, n_workers: int) -> Iterator[ReadOutcome]:
        """Yield the outcome of each run as soon as it is read.

        The largest runs and parts come first, so that no worker still reads one when all others are
        done.
        """
        context = multiprocessing.get_context("fork" if _can_fork() else "spawn")
        with (
            ParentWatchdog(context) as watchdog,
            ProcessPoolExecutor(n_workers, context, _initialize_reader, watchdog.initargs) as pool,
            watchdog.end_workers_on_error(pool),
        ):
            largest_first = sorted(self._list_tasks(), key=lambda task: task.n_bytes, reverse=True)
            pending = {self._submit(pool, task.job): task for task in largest_first}
            while pending:
                done, _ = wait(pending, return_when=FIRST_COMPLETED)
                for future in done:
                    task = pending.pop(future)
                    self._report_task(task)
                    next_step = self._add_outcome(task.job, _get_outcome(future, task.job))
                    if isinstance(next_step, ReadOutcome):
                        # The run is read.
                        yield next_step
                    elif isinstance(next_step, ReadJob):
                        # All parts of a run are read, and it needs another job.
                        pending[self._submit(pool, next_step)] = _ReadTask(next_step, n_bytes=0)
                    # Otherwise, other parts of the run are still being read.

    def _list_tasks(self) -> Iterator[_ReadTask]:
        """Yield a task for each run, and several tasks for a run that is read in parts."""
        for job in self._jobs:
            split = self._split_runs.get(job.run_number)
            if split is None:
                yield _ReadTask(job, job.n_result_bytes)
            else:
                yield from split.list_tasks()

    def _submit(self, pool: ProcessPoolExecutor, job: ReadJob) -> Future[ReadOutcome]:
        """Give a job to the workers. If a worker was killed, the pool takes no job, and the job
        fails like the others.
        """
        try:
            return pool.submit(self._read_job, job, None)
        except BrokenProcessPool as error:
            future: Future[ReadOutcome] = Future()
            future.set_exception(error)
            return future

    def _report_task(self, task: _ReadTask) -> None:
        self._n_done_bytes += task.n_bytes
        self._report(task.job.plan.run.model, round(self._n_done_bytes), self._n_bytes)

    def _add_outcome(self, job: ReadJob, outcome: ReadOutcome) -> ReadOutcome | ReadJob | None:
        """Return the outcome of a run if it is read, or the job that the run needs next. None while
        other parts of the run are read.
        """
        split = self._split_runs.get(job.run_number)
        if split is None:
            return outcome
        return split.add_outcome(job, outcome)


@dataclass(frozen=True, slots=True)
class _ReadTask:
    """A job, with the number of bytes by which it advances the progress."""

    job: ReadJob
    n_bytes: float


class _SplitRun:
    """A run that is read in parts by several jobs, with the outcomes of the finished parts.

    After all parts, a last job reads the end of the run: facts that the importer can only derive
    from the summaries of all parts.
    """

    def __init__(self, job: ReadJob, parts: Sequence[RunPart]) -> None:
        self._job = job
        self._parts = parts
        self._outcomes: dict[int, ReadOutcome] = {}
        """Outcome of each part that is read, by its index."""

    def list_tasks(self) -> Iterator[_ReadTask]:
        """Yield a task for each part, with its share of the bytes and of the source files."""
        n_part_bytes = sum(part.n_bytes for part in self._parts)
        for part in self._parts:
            share = part.n_bytes / max(n_part_bytes, 1)
            # A job hashes its sources. The parts take turns, so that each file is hashed once.
            sources = self._job.sources[part.index :: len(self._parts)]
            job = replace(self._job, plan=replace(self._job.plan, part=part), sources=sources)
            yield _ReadTask(job, share * self._job.n_result_bytes)

    def add_outcome(self, job: ReadJob, outcome: ReadOutcome) -> ReadOutcome | ReadJob | None:
        """Take the outcome of one of the run's jobs, and return what comes next.

        The jobs of a run are one for each part, and then one for the end of the run. If the parts
        depend on each other, a job for the whole run replaces them.

        Returns None while other parts are being read, then the next job, and at last the outcome of
        the run.
        """
        part = job.plan.part
        if part is not None:
            self._outcomes[part.index] = outcome
            all_parts_read = len(self._outcomes) == len(self._parts)
            return self._continue_after_parts() if all_parts_read else None

        # The importer may notice only at the end that the parts depend on each other.
        if outcome.has_dependent_parts:
            return self._job
        is_end_of_run = job.plan.part_summaries is not None
        if is_end_of_run and outcome.staged is not None:
            return self._join_parts(outcome, outcome.staged)
        # The run was read as a whole, or its end could not be read.
        return self._finish(outcome)

    def _continue_after_parts(self) -> ReadOutcome | ReadJob:
        """Return what follows the parts: the job that reads the end of the run.

        If a part failed, return its outcome, with which the run fails. If the parts depend on each
        other, return the job that reads the run as a whole.
        """
        outcomes = [self._outcomes[part.index] for part in self._parts]
        for outcome in outcomes:
            if outcome.has_dependent_parts:
                return self._job
            if outcome.staged is None:
                outcome.info = self._job.plan.run
                return self._finish(outcome)
        return self._make_end_job(outcomes)

    def _make_end_job(self, outcomes: Sequence[ReadOutcome]) -> ReadJob:
        """Return the job that reads the end of the run, which needs the summaries of its parts.

        It has no sources, because the parts have hashed all files.
        """
        plan = replace(self._job.plan, run=_merge_runs(self._job.plan.run, outcomes))
        plan.part_summaries = [staged.part_summary for staged in self._list_staged_parts()]
        return replace(self._job, plan=plan, sources=[])

    def _join_parts(self, end: ReadOutcome, staged_end: StagedRun) -> ReadOutcome:
        """Return the outcome of the run from those of its parts and of its end."""
        joined = StagedRun(self._job.run_number)
        for staged in self._list_staged_parts():
            joined.append(staged)
        joined.append(staged_end)

        _add_facts_to_run(end.info, joined)
        end.seconds += sum(outcome.seconds for outcome in self._outcomes.values())
        end.sources = self._list_sources()
        end.staged = joined
        return self._finish(end)

    def _list_sources(self) -> list[SourceFile]:
        """Return the files of the run, with the hashes that the parts have added."""
        hashed = {}
        for outcome in self._outcomes.values():
            for source in outcome.sources:
                hashed[source.path, source.kind] = source
        return [hashed[source.path, source.kind] for source in self._job.sources]

    def _list_staged_parts(self) -> list[StagedRun]:
        """Return the parts that were read, in the order of the run."""
        outcomes = [self._outcomes[part.index] for part in self._parts]
        return [outcome.staged for outcome in outcomes if outcome.staged is not None]

    def _finish(self, outcome: ReadOutcome) -> ReadOutcome:
        """Complete the outcome of the run. The shared rows of parts that `outcome` does not include
        are added to it.
        """
        outcome.job = self._job
        used = [] if outcome.staged is None else outcome.staged.shared_rows
        for staged in self._list_staged_parts():
            outcome.other_shared_rows += [file for file in staged.shared_rows if file not in used]
        return outcome


def _merge_runs(run: Run, outcomes: Sequence[ReadOutcome]) -> Run:
    """Return the run with all values that the importers of its parts have set in their copies of
    it.
    """
    merged = replace(run)
    for outcome in outcomes:
        for each in fields(Run):
            value = getattr(outcome.info, each.name)
            if isinstance(value, dict):
                setattr(merged, each.name, getattr(merged, each.name) | value)
            elif value != getattr(run, each.name):
                setattr(merged, each.name, value)
    return merged


def _get_outcome(future: Future[ReadOutcome], job: ReadJob) -> ReadOutcome:
    """Return the outcome of a task. If the worker process was killed, the outcome says that the run
    failed.
    """
    try:
        return future.result()
    except BrokenProcessPool:
        return ReadOutcome(job, job.plan.run, error=WORKER_KILLED)
    except Exception as error:
        return ReadOutcome(job, job.plan.run, error=_format_error(error))


def _can_fork() -> bool:
    """Return whether this process has only one thread, so that forking is safe.

    False if the number is unknown.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


def _add_hash_from_cache(
    source: SourceFile, workspace: Workspace, staging_folder: Path
) -> SourceFile:
    """Add the content hash to `source`. A process hashes each dataset file only once, even if
    several runs use it. An empty hash is not cached, because the file may be readable when the next
    run is read.
    """
    key = (staging_folder, source.path, source.size, source.mtime_ns)
    hashed_source = add_content_hash(
        source, workspace.to_absolute_path(source.path), _known_hashes.get(key)
    )
    if hashed_source.hash:
        _known_hashes[key] = hashed_source.hash
    return hashed_source


MAX_ERROR_CHARS = 500
"""Maximum length of the message of an exception in the error of a run."""


def _format_error(error: BaseException) -> str:
    """Return an exception as one line: `ValueError: unexpected content`."""
    text = " ".join(str(error).split())
    if not text:
        return type(error).__name__
    return f"{type(error).__name__}: {text[:MAX_ERROR_CHARS]}"

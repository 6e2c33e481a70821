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
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import partial
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path

from fcreview.model.item import ReadRecord, Run
from fcreview.run_plan import RunPlan
from fcreview.store.importing.source_files import SourceFile, add_content_hash
from fcreview.store.importing.staging import SharedRowCache, StagedRun, stage_run
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
    def end_workers_on_error(self) -> Iterator[None]:
        """End the workers if the block raises an exception, so that the pool does not wait for
        their current tasks.
        """
        try:
            yield
        except BaseException:
            self._close_pipe()
            raise

    def _close_pipe(self) -> None:
        self._writing_end.close()
        self._reading_end.close()


def _exit_when_pipe_closes(reading_end: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        reading_end.recv_bytes()
    os._exit(1)


def _set_parent_death_signal() -> None:
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


RunReader = Callable[[RunPlan], Iterable[ReadRecord]]  # must be a top-level function, to be pickled
# called with (model, bytes read so far, total bytes)
ImportProgressCallback = Callable[[str, int, int], None]
_JobReader = Callable[["ReadJob", Callable[[int], None] | None], "ReadOutcome"]

# total size of result files, in bytes, below which one process is faster than several
MIN_PARALLEL_BYTES = 8_000_000


@dataclass(slots=True)
class ReadJob:
    run_number: int
    plan: RunPlan
    # State before the run is read. A file that grows meanwhile is read again later.
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

    The first `next` starts the worker processes. Call it before this process starts threads, so
    that forking is safe.

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
    n_used_workers = min(max_workers, len(jobs))
    read_job = partial(read_and_stage_run, workspace, staging_folder, read_items)
    report = on_progress or (lambda *_: None)
    try:
        if n_used_workers > 1:
            yield from _read_in_workers(read_job, jobs, n_used_workers, report)
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


def read_and_stage_run(
    workspace: Workspace,
    staging_folder: Path,
    read_items: RunReader,
    job: ReadJob,
    on_progress: Callable[[int], None] | None,
) -> ReadOutcome:
    """Read one run with its importer, and write its items to staging files.

    If the importer raises an exception, the outcome has its message, so that the import continues
    with the other runs.
    """
    started = time.perf_counter()
    outcome = ReadOutcome(job, job.plan.run)
    cache = _shared_row_caches.setdefault(staging_folder, SharedRowCache())
    path_stem = staging_folder / f"{job.run_number}-{os.getpid()}"
    try:
        with _reduce_garbage_collection():
            outcome.staged = stage_run(
                read_items(job.plan),
                job.run_number,
                path_stem,
                workspace.to_stored_path,
                cache,
                on_progress,
            )
        outcome.sources = [
            _add_hash_from_cache(source, workspace, staging_folder) for source in job.sources
        ]
    except Exception as error:
        outcome.error = _format_error(error)
        # The cache names rows in the staging files of this run, which is not loaded.
        cache.clear()

    # The importer may have changed the run while it read the items.
    outcome.info = job.plan.run
    if outcome.staged is not None:
        # The search for runs already knows some facts, such as how the dataset was chosen.
        new_facts = {fact.name: fact for fact in outcome.staged.facts}
        outcome.info.facts = outcome.info.facts | new_facts
        outcome.info.not_run = outcome.staged.not_run
    outcome.seconds = time.perf_counter() - started
    return outcome


@contextlib.contextmanager
def _reduce_garbage_collection() -> Iterator[None]:
    """Let the garbage collector examine only new objects. Otherwise, it would examine the cached
    datasets again and again, which takes 20 % of the reading time.
    """
    thresholds = gc.get_threshold()
    gc.set_threshold(50_000, 1_000_000, 1_000_000)
    try:
        yield
    finally:
        if gc.get_count()[1]:  # a short run has no objects that survived a collection
            gc.collect(1)
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
        yield read_job(job, report_bytes)
        done += job.n_result_bytes
        report(job.plan.run.model, done, total)


def _read_in_workers(
    read_job: _JobReader, jobs: Sequence[ReadJob], n_workers: int, report: ImportProgressCallback
) -> Iterator[ReadOutcome]:
    """Read runs in worker processes, and yield the outcome of each as soon as it is read.

    The largest runs come first, so that no worker still reads one when all others are done.
    `report` is called with the model, the bytes done and all bytes.
    """
    n_bytes = sum(job.n_result_bytes for job in jobs)
    n_done_bytes = 0
    context = multiprocessing.get_context("fork" if _can_fork() else "spawn")
    with (
        ParentWatchdog(context) as watchdog,
        ProcessPoolExecutor(
            n_workers, context, watchdog.initialize_worker, watchdog.initargs
        ) as pool,
        watchdog.end_workers_on_error(),
    ):
        largest_first = sorted(jobs, key=lambda job: job.n_result_bytes, reverse=True)
        futures = {pool.submit(read_job, job, None): job for job in largest_first}
        for future in as_completed(futures):
            job = futures.pop(future)
            yield _get_outcome(future, job)
            n_done_bytes += job.n_result_bytes
            report(job.plan.run.model, n_done_bytes, n_bytes)


def _get_outcome(future: Future[ReadOutcome], job: ReadJob) -> ReadOutcome:
    try:
        return future.result()
    except BrokenProcessPool:
        reason = "the worker process was killed, possibly because memory ran out"
        return ReadOutcome(job, job.plan.run, error=reason)
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


def _format_error(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__

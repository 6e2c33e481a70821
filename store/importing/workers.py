"""Worker processes that end when their parent does, however it ends.

A pipe is held open by the parent alone; a thread of each worker waits for its end, which comes when the parent lets go
or dies. On Linux the kernel is asked as well: it also ends a worker that no thread can interrupt.

Reads planned runs into parts, in this process or in several.
"""

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
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from multiprocessing.connection import Connection
from multiprocessing.context import BaseContext
from pathlib import Path

from fcreview.model.item import ImportIssue, Item, Run
from fcreview.run_plan import RunPlan
from fcreview.store.importing.sources import SourceFile, hash_source
from fcreview.store.importing.staging import StagedRun, FunctionCache, stage_run
from fcreview.store.workspace import Workspace

_SET_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG of Linux's prctl.h"""


class ParentPipe:
    """The parent's end, held until the context is left. `initializer` and `initargs` are for the pool."""

    def __init__(self, context: BaseContext) -> None:
        self._end, self._held = context.Pipe(duplex=False)
        forked = context.get_start_method() == "fork"
        self.initargs = (os.getpid(), self._end, self._held if forked else None)

    @staticmethod
    def initializer(parent: int, end: Connection, held: Connection | None) -> None:
        """Runs in a worker. `held` is the parent's end where forking has copied it: it is let go here."""
        if held is not None:
            held.close()
        for each in (signal.SIGHUP, signal.SIGTERM):  # forked workers have the parent's handlers
            signal.signal(each, signal.SIG_DFL)
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches all: the parent says what is to be done
        _ask_the_kernel()
        if os.getppid() != parent:  # it died before that
            os._exit(1)
        threading.Thread(target=_end_with, args=(end,), daemon=True, name="lifeline").start()

    def __enter__(self) -> ParentPipe:
        return self

    def __exit__(self, *_: object) -> None:
        self._cut()

    @contextlib.contextmanager
    def closed_on_error(self) -> Iterator[None]:
        """When the parent leaves early, nobody waits for what the workers are at."""
        try:
            yield
        except BaseException:
            self._cut()
            raise

    def _cut(self) -> None:
        self._held.close()
        self._end.close()


def _end_with(end: Connection) -> None:
    with contextlib.suppress(EOFError, OSError):
        end.recv_bytes()
    os._exit(1)


def _ask_the_kernel() -> None:
    """To kill this process when its parent dies. Where it cannot be asked, the pipe has to do."""
    if not sys.platform.startswith("linux"):
        return
    with contextlib.suppress(ImportError, OSError, AttributeError):
        import ctypes

        ctypes.CDLL(None).prctl(_SET_DEATH_SIGNAL, int(signal.SIGKILL), 0, 0, 0)


RunReader = Callable[[RunPlan], Iterable[Item | ImportIssue]]
ImportProgressCallback = Callable[[str, int, int], None]
"""(label, bytes read so far, bytes in all)"""

MIN_PARALLEL_BYTES = 8_000_000
"""Bytes of results below which starting processes costs more than it saves."""


@dataclass(slots=True)
class ReadJob:
    """A run to be read."""

    run_number: int
    plan: RunPlan
    sources: list[SourceFile]
    """As they were before reading: a file that grows meanwhile is read again next time."""

    @property
    def size(self) -> int:
        return sum(max(source.size, 0) for source in self.sources if source.kind in ("result", "score"))


@dataclass(slots=True)
class ReadOutcome:
    """A run that was read, or why it could not be."""

    job: ReadJob
    info: Run
    """The run as the reader left it: reading adds official metrics and the dataset."""
    sources: list[SourceFile] = field(default_factory=list)
    staged: StagedRun | None = None
    error: str | None = None
    seconds: float = 0.0


_shared: dict[Path, FunctionCache] = {}
_hashes: dict[tuple[Path, str, int, int], str] = {}


def read_runs(
    workspace: Workspace, folder: Path, jobs: Sequence[ReadJob], read: RunReader, n_workers: int | None, on_progress: ImportProgressCallback | None
) -> Generator[ReadOutcome, None, None]:
    """Outcomes as they come. Parts are written to `folder`. `workers` None decides by size; 1 is this process.

    Processes are started at the first `next`, so ask for it before this process starts threads: forking is then safe.
    """
    total = sum(job.size for job in jobs)
    if n_workers is None:
        n_workers = min(os.cpu_count() or 1, len(jobs)) if total > MIN_PARALLEL_BYTES else 1
    try:
        if min(n_workers, len(jobs)) > 1:
            yield from _in_processes(workspace, folder, jobs, read, n_workers, on_progress, total)
        else:
            yield from _here(workspace, folder, jobs, read, on_progress, total)
    finally:
        _shared.pop(folder, None)
        _hashes.clear()


def read_run(workspace: Workspace, folder: Path, job: ReadJob, read: RunReader, on_progress: Callable[[int], None] | None) -> ReadOutcome:
    """Reads one run. Whatever the reader raises becomes `error`: one importer's mistake does not stop the others."""
    started = time.perf_counter()
    outcome = ReadOutcome(job, job.plan.run)
    shared = _shared.setdefault(folder, FunctionCache())
    try:
        stem = folder / f"{job.run_number}-{os.getpid()}"
        with _rare_collections():
            outcome.staged = stage_run(read(job.plan), job.run_number, stem, workspace.to_stored_path, shared, on_progress)
        outcome.sources = [_hashed(source, workspace, folder) for source in job.sources]
    except Exception as error:
        outcome.error = _reason(error)
        shared.clear()
    outcome.info = job.plan.run
    outcome.seconds = time.perf_counter() - started
    return outcome


@contextlib.contextmanager
def _rare_collections() -> Iterator[None]:
    """Records and items hold no cycles: looking for some at the usual pace takes a seventh of the time."""
    usual = gc.get_threshold()
    gc.set_threshold(50_000, *usual[1:])
    try:
        yield
    finally:
        gc.set_threshold(*usual)


def _here(
    workspace: Workspace, folder: Path, jobs: Sequence[ReadJob], read: RunReader, progress: ImportProgressCallback | None, total: int
) -> Iterator[ReadOutcome]:
    done = 0
    for job in jobs:
        report = None
        if progress is not None:
            tell, label, base = progress, job.plan.run.model, done
            tell(label, base, total)
            report = lambda n, j=job: tell(label, base + min(n, j.size), total)  # noqa: B023, E731 - used before the next
        yield read_run(workspace, folder, job, read, report)
        done += job.size
        if progress is not None:
            progress(job.plan.run.model, done, total)


def _in_processes(
    workspace: Workspace,
    folder: Path,
    jobs: Sequence[ReadJob],
    read: RunReader,
    workers: int,
    progress: ImportProgressCallback | None,
    total: int,
) -> Iterator[ReadOutcome]:
    done = 0
    context = multiprocessing.get_context("fork" if _may_fork() else "spawn")
    with (
        ParentPipe(context) as lifeline,
        ProcessPoolExecutor(
            min(workers, len(jobs)), mp_context=context, initializer=lifeline.initializer, initargs=lifeline.initargs
        ) as pool,
        lifeline.closed_on_error(),
    ):
        largest_first = sorted(jobs, key=lambda job: job.size, reverse=True)
        futures = {pool.submit(read_run, workspace, folder, job, read, None): job for job in largest_first}
        for future in as_completed(futures):
            job = futures.pop(future)
            try:
                outcome = future.result()
            except BrokenProcessPool:
                outcome = ReadOutcome(job, job.plan.run, error="the process that read it was killed (out of memory?)")
            except Exception as error:
                outcome = ReadOutcome(job, job.plan.run, error=_reason(error))
            yield outcome
            done += job.size
            if progress is not None:
                progress(job.plan.run.model, done, total)


def _may_fork() -> bool:
    """Only a process with one thread (native ones counted) can be forked safely; where that is not known, it cannot."""
    if not sys.platform.startswith("linux"):
        return False
    try:
        return len(list(Path("/proc/self/task").iterdir())) == 1
    except OSError:
        return False


def _hashed(source: SourceFile, workspace: Workspace, folder: Path) -> SourceFile:
    """Datasets are shared by many runs: each is hashed once a process. What one run could still read, the next may not
    have had."""
    key = (folder, source.path, source.size, source.mtime_ns)
    found = hash_source(source, workspace.to_absolute_path(source.path), _hashes.get(key))
    if found.hash:
        _hashes[key] = found.hash
    return found


def _reason(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:500]}" if text else type(error).__name__

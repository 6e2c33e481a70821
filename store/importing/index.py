"""What the store knows of its runs: enough to tell which of them need reading again."""

from __future__ import annotations

from dataclasses import dataclass, field

import orjson

from fcreview.model import Run
from fcreview.store.connecting import StoreError, open_store
from fcreview.store.importing.sources import Source
from fcreview.store.workspace import Workspace


@dataclass(slots=True)
class StoredRun:
    run: int
    version: int
    n_items: int
    n_issues: int
    dataset: str | None
    sources: list[Source] = field(default_factory=list)


@dataclass(slots=True)
class Index:
    runs: dict[str, StoredRun] = field(default_factory=dict)
    """By `run_key`."""
    usable: bool = False
    """There is a store, and it can be added to."""
    problem: str | None = None
    """Why a store that is there is not usable: it is built anew, from what is imported now."""

    @property
    def next_run(self) -> int:
        return max((stored.run for stored in self.runs.values()), default=0) + 1


def run_key(workspace: Workspace, run: Run) -> str:
    """What makes two runs the same run: a JSON list of benchmark, generation, language, model and path."""
    return orjson.dumps([run.benchmark, run.generation, run.language, run.model, workspace.short(run.path)]).decode()


def read_index(workspace: Workspace) -> Index:
    if not workspace.store.exists():
        return Index()
    try:
        connection = open_store(workspace)
    except StoreError as error:
        return Index(problem=str(error))
    try:
        index, by_run = Index(usable=True), {}
        for run, key, *rest in connection.execute(
            "SELECT run, key, version, n_items,"
            " (SELECT count(*) FROM import_issues i WHERE i.run = r.run), dataset FROM runs r"
        ).fetchall():
            index.runs[key] = by_run[run] = StoredRun(run, *rest)
        for run, *source in connection.execute("SELECT run, path, kind, size, mtime_ns, hash FROM sources").fetchall():
            by_run[run].sources.append(Source(*source))
        return index
    finally:
        connection.close()

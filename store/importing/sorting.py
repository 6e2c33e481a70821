"""Which of the planned runs are as they were, which are read, and which are kept because their dataset is lost."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from fcreview.model import ImportIssue, Run
from fcreview.plan import RunPlan
from fcreview.store.importing.datasets import DataChoice, Remembered, lost, missing, supplying
from fcreview.store.importing.index import Index, StoredRun, run_key
from fcreview.store.importing.reading import Job
from fcreview.store.importing.sources import Source, look, unchanged
from fcreview.store.workspace import Workspace


@dataclass(slots=True)
class Sorted:
    rows: dict[int, dict[str, Any]] = field(default_factory=dict)
    """Of the summary, by run."""
    plans: dict[int, RunPlan] = field(default_factory=dict)
    """By run."""
    jobs: list[Job] = field(default_factory=list)
    """Runs that are read."""
    touched: list[Job] = field(default_factory=list)
    """Runs whose files have another time and the same content."""
    held: list[RunPlan] = field(default_factory=list)
    """Runs that stay as they are, whatever their files hold now, since their dataset is lost."""
    issues: list[ImportIssue] = field(default_factory=list)


class Sorting:
    """Goes through the plans of one import."""

    def __init__(self, workspace: Workspace, index: Index, choice: DataChoice) -> None:
        self._workspace = workspace
        self._index = index
        self._choice = choice
        self._remembered = Remembered(workspace)

    def sort(self, plans: Sequence[RunPlan]) -> Sorted:
        done, known = Sorted(), set()
        next_run = self._index.next_run
        for plan in plans:
            key = run_key(self._workspace, plan.run)
            if key in known:
                what = f"run {plan.run.model} was found twice; the first counts"
                done.issues.append(ImportIssue(plan.run.path, None, what))
                continue
            known.add(key)
            stored = self._index.runs.get(key)
            number = stored.run if stored else next_run
            next_run += stored is None
            done.rows[number], done.plans[number] = _summary_row(number, plan.run), plan
            self._add(done, Job(number, plan, look(plan, self._workspace.short)), stored)
        return done

    def remember(self, done: Sorted) -> None:
        """Of each run that is now in the store as it was planned, which of the folders named have its dataset. A run
        that is new beside others has what they have."""
        usual = () if self._choice.forget else self._remembered.usual
        for number, plan in done.plans.items():
            if done.rows[number]["status"] in ("imported", "unchanged"):
                inherited = () if self._remembered.of(plan.run) else supplying(usual, plan)
                given = supplying(self._choice.named, plan) or inherited
                if given or self._choice.forget:
                    self._remembered.keep(plan.run, given)
        self._remembered.save()

    def _add(self, done: Sorted, job: Job, stored: StoredRun | None) -> None:
        row, plan = done.rows[job.run], job.plan
        before = self._remembered.of(plan.run)
        anew = self._choice.forget or bool(set(supplying(self._choice.named, plan)) - set(before))
        chosen = () if anew else before
        gone = lost(self._workspace, plan, stored, chosen) if stored and not anew else None
        absent = gone or missing(plan, chosen)
        row["missing_dataset"] = str(absent) if absent else None
        if stored and gone:
            row |= _what_is_stored(stored)
            row["status"] = "kept" if self._same_results(job, stored) else "outdated"
            done.held.append(plan)
        elif stored and stored.version == plan.reading and self._same(job.sources, stored.sources):
            row |= _what_is_stored(stored)
            if _take_hashes(job, stored):
                done.touched.append(job)
        else:
            done.jobs.append(job)

    def _same(self, now: list[Source], before: list[Source]) -> bool:
        return unchanged(now, before, self._workspace.full)

    def _same_results(self, job: Job, stored: StoredRun) -> bool:
        """Whether all but the dataset is as it was."""
        now, before = ([s for s in sources if s.kind != "data"] for sources in (job.sources, stored.sources))
        return self._same(now, before)


def _what_is_stored(stored: StoredRun) -> dict[str, Any]:
    return {"items": stored.n_items, "issues": stored.n_issues, "dataset": stored.dataset}


def _take_hashes(job: Job, stored: StoredRun) -> bool:
    """Whether a file has another time; its content is the same, so its hash is."""
    old = {(source.path, source.kind): source for source in stored.sources}
    if all(source.mtime_ns == old[source.path, source.kind].mtime_ns for source in job.sources):
        return False
    for n, source in enumerate(job.sources):
        was = old[source.path, source.kind]
        job.sources[n] = Source(source.path, source.kind, source.size, source.mtime_ns, was.hash)
    return True


def _summary_row(number: int, run: Run) -> dict[str, Any]:
    return {
        "run": number,
        "benchmark": run.benchmark,
        "generation": run.generation,
        "language": run.language,
        "model": run.model,
        "path": run.path,
        "items": 0,
        "status": "unchanged",
        "seconds": 0.0,
        "dataset": run.dataset,
        "missing_dataset": None,
        "issues": 0,
    }

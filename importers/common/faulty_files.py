"""Search for runs around files at which an importer fails, so that one file never hides the other
runs.

An importer should report what it cannot read. If its search raises an exception all the same, this
module finds the file that causes it, searches again without the file, and plans the file as a run
that fails.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fcreview.importers.common.json_text import escape_and_cut_strings
from fcreview.model.item import ImportIssue, Run
from fcreview.run_plan import DiscoveredRuns, RunPlan

MAX_FAULTY_FILES = 20
"""Number of faulty files from which an importer is not tried again."""
MAX_REASON_LENGTH = 300
SearchFiles = Callable[[Sequence[Path]], DiscoveredRuns]
"""Search of one importer among some files."""


@dataclass(slots=True)
class SearchResult:
    found: DiscoveredRuns = field(default_factory=DiscoveredRuns)
    faulty_files: dict[Path, str] = field(default_factory=dict)
    """File at which the search fails -> reason."""
    failure: str = ""
    """Why the importer found nothing at all; empty if its search ended."""


def search_around_faults(search: SearchFiles, files: Sequence[Path]) -> SearchResult:
    """Search for runs.

    If the search raises an exception, repeat it without the file that causes it.
    """
    result = SearchResult()
    remaining = list(files)
    while True:
        # Any exception is caught: that of one importer must not hide the runs of the others.
        try:
            result.found = search(remaining)
        except Exception as error:
            reason = describe_error(error)
        else:
            return result

        faulty_file = _find_faulty_file(search, remaining)
        if faulty_file is None or len(result.faulty_files) >= MAX_FAULTY_FILES:
            result.failure = reason
            return result
        result.faulty_files[faulty_file] = reason
        remaining.remove(faulty_file)


def _find_faulty_file(search: SearchFiles, files: Sequence[Path]) -> Path | None:
    """Return a file that makes the search fail, by bisection: the search fails with this file and
    those before it, and does not fail with only those before it.

    Returns None if the search fails without any file.
    """
    if _fails(search, []):
        return None
    n_without_fault = 0
    n_with_fault = len(files)
    while n_with_fault - n_without_fault > 1:
        middle = (n_without_fault + n_with_fault) // 2
        if _fails(search, files[:middle]):
            n_with_fault = middle
        else:
            n_without_fault = middle
    return files[n_with_fault - 1]


def _fails(search: SearchFiles, files: Sequence[Path]) -> bool:
    try:
        search(files)
    except Exception:
        return True
    return False


def make_failed_plan(benchmark: str, path: Path, reason: str) -> RunPlan:
    """Return the plan of a run that cannot be read.

    It is imported with the status `failed` and this reason.
    """
    run = Run(
        benchmark=benchmark,
        generation="",
        language="",
        model=path.name,
        path=str(path),
        needs_dataset=False,
    )
    return RunPlan(
        run,
        [path],
        confidence=0.0,
        reason="a file that cannot be read",
        needs_scores=False,
        failure=reason,
    )


def make_failed_search_issue(title: str, reason: str, folder: Path) -> ImportIssue:
    what = f"the search for runs of {title} failed: {reason}. No run of {title} was imported"
    return ImportIssue(str(folder), what=what, severity="error")


def describe_error(error: Exception) -> str:
    text = " ".join(str(error).split())[:MAX_REASON_LENGTH]
    name = type(error).__name__
    return str(escape_and_cut_strings(f"{name}: {text}" if text else name))

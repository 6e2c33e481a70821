"""What is said on standard error of runs that could not be brought in as they are on disk."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.output import note
from fcreview.sanitise import visible
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.store.rows import ImportSummary

TOLD = 3
_WHAT_NOW = "say where it is with --data DIR, or give it up with fcreview import --forget-data"
_MISSING = {
    "kept": "the last import is kept",
    "outdated": "the last import is kept, and the results that have changed since are not shown",
}


def tell_missing(summary: ImportSummary) -> None:
    """Datasets that are not where they were: a line for each folder and what that means."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in summary.runs:
        if row["missing_dataset"] is not None:
            meaning = _MISSING.get(row["status"], "imported without it")
            alike.setdefault((row["missing_dataset"], meaning), []).append(row)
    for (folder, meaning), rows in alike.items():
        note(f"fcreview: {_runs(rows)}: dataset not found (it was in {folder}): {meaning}; {_WHAT_NOW}")


def _runs(rows: Sequence[dict[str, Any]]) -> str:
    """`maple`, or `12 runs (maple, birch, cedar ...)`."""
    names = ", ".join(row["model"] for row in rows[:TOLD])
    if len(rows) == 1:
        return names
    return f"{count_of(len(rows), 'run')} ({names}{' ...' if len(rows) > TOLD else ''})"


def tell_failures(summary: ImportSummary) -> None:
    """Runs that could not be read: what follows is without them."""
    failed = [row for row in summary.runs if row["status"] == "failed"]
    for row in failed[:TOLD]:
        reason = next((i["what"] for i in summary.issues if i["file"] == row["path"] and i["severity"] == "error"), "")
        note(f"fcreview: {reason or 'not imported: ' + row['model']}")
    if len(failed) > TOLD:
        note(f"fcreview: {count_of(len(failed) - TOLD, 'more run')} could not be read: fcreview import shows them")


def tell_errata(summary: ImportSummary, errata: Path) -> None:
    """Entries of these errata that were not applied: a line each, however many runs they concern."""
    found = {(i["line"], i["item"], i["what"]) for i in summary.issues if i["file"] == str(errata)}
    for line, item, what in sorted(found)[:TOLD]:
        note(f"fcreview: errata, line {line}, {visible(item)}: {what}")
    if len(found) > TOLD:
        more = count_of(len(found) - TOLD, "more erratum", "more errata")
        note(f"fcreview: {more} not applied: fcreview import --errata")


def is_settled(summary: ImportSummary) -> bool:
    """Whether every run is in the store as it is on disk, so that it need not be looked for again."""
    return all(row["status"] in ("imported", "unchanged") and not row["missing_dataset"] for row in summary.runs)

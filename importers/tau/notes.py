"""Read notes on simulations, which people write in the viewer of tau2-bench, as their recorded reviews.

A note is a file `*_note.json` with the id of the simulation. The file may be in another folder than the run.
Source: `SimulationNote` in `data_model/simulation.py` of sierra-research/tau2-bench 1.0.1.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import read_document
from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.model.address import ITEM, is_address
from fcreview.model.item import ImportIssue, RecordedReview
from fcreview.model.review import CORRECT, FAULTS

SOURCE = "tau2"
UNKNOWN_AUTHOR = "unknown"
FAULT_OF_SOURCE = {"agent": "model", "user": "simulator"}
"""`error_source` -> fault. No fault corresponds to the source `system`; the text of the review mentions it."""
OWN_FIELD = "fcreview"
"""Field of an exported note, with target, criterion, verdict and events of the review."""
_RUN_FILE = re.compile(r'"source_results_file"\s*:\s*"((?:[^"\\]|\\.)*)"')


def names_run(head: str, run_path: Path) -> bool:
    """Return whether the beginning of a file of notes names the run: its file, or `results.json` in its folder."""
    named = [re.split(r"[\\/]+", each) for each in _RUN_FILE.findall(head)]
    return any(run_path.name in parts[-2:] for parts in named)


def read_notes(paths: Sequence[Path]) -> tuple[dict[str, list[RecordedReview]], list[ImportIssue]]:
    """Read files of notes. Returns {simulation id: reviews sorted by time}, and issues."""
    found: defaultdict[str, list[RecordedReview]] = defaultdict(list)
    issues: list[ImportIssue] = []
    for path in paths:
        document = read_document(path)
        issues += document.issues
        for note in _list_notes(document.fields, [record.value for record in document.records]):
            simulation = note.get("simulation_id")
            if not isinstance(simulation, str) or not isinstance(note.get("note"), str):
                what = "a note has no simulation_id or no text, and is not imported"
                issues.append(ImportIssue(str(path), None, what))
                continue
            found[simulation].append(_to_review(note))
    for reviews in found.values():
        reviews.sort(key=lambda review: review.time or "")
    return dict(found), issues


def _list_notes(fields: Mapping[str, Any], records: Sequence[Any]) -> Iterator[dict[str, Any]]:
    if fields:
        yield from list_objects(fields["notes"]) if "notes" in fields else [dict(fields)]
    yield from list_objects(list(records))


def _to_review(note: Mapping[str, Any]) -> RecordedReview:
    own = as_object(note.get(OWN_FIELD))
    target, fault, events = own.get("target"), own.get("fault"), own.get("events")
    source, kind, identifier = note.get("error_source"), note.get("error_type"), note.get("id")
    texts = [own["note"] if isinstance(own.get("note"), str) else str(note["note"]) if not own else ""]
    if source == "system":
        texts.append("error of the system")
    tags = own.get("tags") if own else [kind.replace("_", " ")] if isinstance(kind, str) else []
    author = own.get("annotator") or note.get("author_email")
    return RecordedReview(
        SOURCE,
        author if isinstance(author, str) else UNKNOWN_AUTHOR,
        own.get("verdict"),
        target if isinstance(target, str) and is_address(target) else ITEM,
        own["criterion"] if isinstance(own.get("criterion"), str) else CORRECT,
        " · ".join(filter(None, texts)) or None,
        _read_time(note.get("created_at")),
        [str(event) for event in (events if isinstance(events, list) else [identifier]) if event],
        fault if own and fault in FAULTS else FAULT_OF_SOURCE.get(str(source)) if not own else None,
        [tag for tag in as_list(tags) if isinstance(tag, str)],
    )


def _read_time(value: Any) -> str | None:
    try:
        datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return None
    return str(value)

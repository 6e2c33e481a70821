"""Export reviews as notes for the viewer of tau2-bench, one file `*_note.json` for each review.

The field `fcreview` of a note contains the complete review. `import-labels --format tau2-notes` reads this field, and
the viewer ignores it. Adjudications are not exported.
"""

from __future__ import annotations

import json
import re
from pathlib import Path, PurePath
from typing import Any

from fcreview.exporters.base import ExportError, ExportSource
from fcreview.model.address import ITEM
from fcreview.model.json_value import json_hash
from fcreview.model.review import CORRECT, Opinion
from fcreview.model.wording import format_count, format_verdict
from fcreview.store.rows import ItemDetail

ERROR_SOURCES = {"model": "agent", "simulator": "user", "checker": "system"}
"""Value of the note's field `error_source` for each fault. The viewer has no value for the other faults."""
ERROR_TYPES = frozenset({"transcription", "vad", "logical", "hallucination", "unresponsive", "early_termination"})
_UNSAFE = re.compile(r"[^\w.-]+")


def write_notes(source: ExportSource, folder: Path) -> None:
    """Write a note for each review of an item of tau2-bench. Raises ExportError if no run comes from tau2-bench."""
    runs = {run.run for run in source.runs if (run.info.benchmark, run.info.generation) == ("tau", "v2")}
    if not runs:
        raise ExportError("no run comes from tau2-bench. Choose another format.")
    n_notes = n_lost = 0
    for chunk in source.iter_item_chunks():
        for detail in chunk:
            if detail.row.run not in runs:
                continue
            metadata = detail.item.extra.metadata
            opinions = [each for each in detail.opinions if not each.stale and not each.is_adjudication]
            if not isinstance(metadata.get("trial"), int) or not isinstance(metadata.get("simulation"), str):
                n_lost += len(opinions)
                continue
            for opinion in opinions:
                note = _make_note(detail, opinion)
                path = folder / _UNSAFE.sub("_", f"task_{note['task_id'][:60]}_{note['id']}_note.json")
                path.write_text(json.dumps(note, indent=2, ensure_ascii=False) + "\n", "utf-8")
                n_notes += 1
    if n_lost:
        source.print_note(f"omitted {format_count(n_lost, 'review')}: the simulation has no id or no trial number")
    source.counts.clear()
    source.counts["note"] = n_notes


def _make_note(detail: ItemDetail, opinion: Opinion) -> dict[str, Any]:
    item, path = detail.item, PurePath(detail.run.path)
    about = opinion.annotator, opinion.target, opinion.criterion
    events = [each.event for each in detail.history if (each.annotator, each.target, each.criterion) == about]
    own = {
        "annotator": opinion.annotator, "target": opinion.target, "criterion": opinion.criterion,
        "verdict": opinion.verdict, "fault": opinion.fault, "tags": opinion.tags, "note": opinion.note,
        "events": events,
    }  # fmt: skip
    tags = [tag.replace(" ", "_") for tag in opinion.tags or ()]
    return {
        "id": f"note_{json_hash([item.id, own], 4)}",
        "note": _format_note_text(opinion),
        "author_email": opinion.annotator,
        "created_at": opinion.time or None,
        "simulation_id": item.extra.metadata["simulation"],
        "task_id": (item.group or item.id).removeprefix("task "),
        "trial": item.extra.metadata["trial"],
        "source_results_file": path.name if path.suffix == ".json" else f"{path.name}/results.json",
        "simulation_file": None,
        "error_source": ERROR_SOURCES.get(opinion.fault or ""),
        "error_type": next((tag for tag in tags if tag in ERROR_TYPES), None),
        "fcreview": own,
    }


def _format_note_text(opinion: Opinion) -> str:
    parts = [] if opinion.verdict is None else [format_verdict(opinion.verdict, opinion.criterion)]
    parts += [opinion.criterion] if opinion.criterion != CORRECT else []
    parts += [f"on {opinion.target}"] if opinion.target != ITEM else []
    parts += [f"fault: {opinion.fault}"] if opinion.fault else []
    parts += opinion.tags or []
    parts += [opinion.note] if opinion.note else []
    return " · ".join(parts) or "reviewed"

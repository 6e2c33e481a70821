"""Read reviews of tau2-bench simulations: those of LLM judges, and the notes of annotators.

A note is a file `*_note.json` with the id of a simulation, written in the viewer of tau2-bench. It may be in any
folder, and becomes a recorded review.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any

from fcreview.importers.common.json_file import read_json_document
from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.tau.checker import OWN_FIELD
from fcreview.model.address import ITEM, is_address, turn_address
from fcreview.model.item import ImportIssue, Item, RecordedReview, Verdict
from fcreview.model.review import CORRECT, FAULTS

FAULT_OF_SOURCE = {"agent": "model", "user": "simulator"}
"""Source of an error in a note or review -> fault in fcreview. There is no fault for the source `system`."""
ITEM_FLAGS = ("agent_error", "user_error", "critical_user_error")
JUDGES_BY_FIELD = {"review": "review", "user_only_review": "review of the user"}
"""Field of a simulation -> name of the judge."""


def add_judge_reviews(
    item: Item, simulation: Mapping[str, Any], turns_by_field: Mapping[str, Mapping[int, int]]
) -> None:
    """Add the verdicts from the judges' reviews of a simulation.

    `turns_by_field` is used to find the turn of an error. Its keys are `turn_idx` and `tick_start`, the two fields of
    an error that may state its position. Its values map the numbers in this field to turns, from 0.
    """
    counts: Counter[str] = Counter()
    for name, judge in JUDGES_BY_FIELD.items():
        review = as_object(simulation.get(name))
        summary = review.get("summary")
        for flag in ITEM_FLAGS:
            if isinstance(review.get(flag), bool):
                rationale, summary = summary if isinstance(summary, str) else None, None
                item.verdicts.append(Verdict("judge", review[flag], ITEM, flag, rationale=rationale, by=judge))
        errors = list_objects(review.get("errors"))
        _add_error_verdicts(item, errors, judge, turns_by_field)
        counts.update(f"{each.get('source') or 'unknown'} {each.get('severity') or 'unknown'}" for each in errors)
    if counts:
        item.extra.metadata["errors found by the review"] = dict(counts)


def _add_error_verdicts(
    item: Item, errors: list[dict[str, Any]], judge_name: str, turns_by_field: Mapping[str, Mapping[int, int]]
) -> None:
    by_target: defaultdict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for error in errors:
        criterion = "user_error" if error.get("source") == "user" else "agent_error"
        by_target[_find_error_target(error, turns_by_field), criterion].append(error)
    for (target, criterion), found in by_target.items():
        if target == ITEM and any(v.criterion == criterion and v.by == judge_name for v in item.verdicts):
            criterion = f"{criterion}_without_turn"
        kinds = list(dict.fromkeys(str(each.get("error_type") or "error") for each in found))
        rationale = "\n".join(map(_describe_error, found))
        item.verdicts.append(Verdict("judge", True, target, criterion, " + ".join(kinds), rationale, judge_name))


def _find_error_target(error: dict[str, Any], turns_by_field: Mapping[str, Mapping[int, int]]) -> str:
    for name, turns in turns_by_field.items():
        at = error.get(name)
        if isinstance(at, int) and at in turns:
            return turn_address(turns[at])
    return ITEM


def _describe_error(error: dict[str, Any]) -> str:
    parts = [f"fault: {FAULT_OF_SOURCE.get(str(error.get('source')), 'unknown')}"]
    if tags := as_list(error.get("error_tags")):
        parts.append(", ".join(map(str, tags)))
    for name, label in (("severity", ""), ("reasoning", ""), ("correct_behavior", "correct: ")):
        if isinstance(error.get(name), str) and error[name]:
            parts.append(label + error[name])
    return " · ".join(parts)


def read_reviews_from_notes(note_files: Sequence[Path], issues: list[ImportIssue]) -> dict[str, list[RecordedReview]]:
    """Return the notes in the files as `{simulation id: reviews sorted by time}`.

    Source: `SimulationNote` in `data_model/simulation.py` of tau2-bench 1.0.1.
    """
    found: defaultdict[str, list[RecordedReview]] = defaultdict(list)
    for path in note_files:
        document = read_json_document(path)
        issues += document.issues
        fields = document.fields
        notes = list_objects(fields["notes"]) if "notes" in fields else [fields] if fields else []
        for note in notes + list_objects([record.value for record in document.records]):
            simulation = note.get("simulation_id")
            if not isinstance(simulation, str) or not isinstance(note.get("note"), str):
                issues.append(ImportIssue(str(path), None, "a note has no simulation_id or no text and was skipped"))
            else:
                found[simulation].append(_convert_note(note))
    for reviews in found.values():
        reviews.sort(key=lambda review: review.time or "")
    return dict(found)


def _convert_note(note: Mapping[str, Any]) -> RecordedReview:
    own = as_object(note.get(OWN_FIELD))
    target, fault, events = own.get("target"), own.get("fault"), own.get("events")
    source, kind, identifier = note.get("error_source"), note.get("error_type"), note.get("id")
    texts = [own["note"] if isinstance(own.get("note"), str) else str(note["note"]) if not own else ""]
    if source == "system":
        texts.append("the system caused the error")
    tags = own.get("tags") if own else [kind.replace("_", " ")] if isinstance(kind, str) else []
    author = own.get("annotator") or note.get("author_email")
    return RecordedReview(
        "tau2",
        author if isinstance(author, str) else "unknown",
        own.get("verdict"),
        target if isinstance(target, str) and is_address(target) else ITEM,
        own["criterion"] if isinstance(own.get("criterion"), str) else CORRECT,
        " · ".join(filter(None, texts)) or None,
        _read_iso_time(note.get("created_at")),
        [str(event) for event in (events if isinstance(events, list) else [identifier]) if event],
        fault if own and fault in FAULTS else FAULT_OF_SOURCE.get(str(source)) if not own else None,
        [tag for tag in as_list(tags) if isinstance(tag, str)],
    )


def _read_iso_time(value: Any) -> str | None:
    try:
        datetime.fromisoformat(value)
        return str(value)
    except (TypeError, ValueError):
        return None

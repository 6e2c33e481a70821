"""`fcreview audit`: print the review history of an item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fcreview.cli.item_text import find_item_number
from fcreview.cli.options import (
    ItemArgument,
    JsonOption,
    RunOption,
    WorkspaceOptions,
    workspace_command,
)
from fcreview.cli.output import emit_json, emit_lines, get_wrap_width, print_message
from fcreview.cli.workspace_import import open_workspace
from fcreview.model.address import ITEM, describe_address
from fcreview.model.golden_fix import REJECTED, count_changed_predictions
from fcreview.model.json_value import to_json_text
from fcreview.model.review import ANNOTATION_FIELDS, CORRECT, find_retracted_events, is_stale
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_verdict
from fcreview.tui.text.lines import sanitize_and_wrap

if TYPE_CHECKING:
    from fcreview.model.review import Event
    from fcreview.store.rows import ItemDetail

BLIND_TEXTS = {True: "yes", False: "no", None: "unknown"}

SHORT_ID_LENGTH = 8  # number of characters of an event id in text output; --json prints the full id

EVENT_INDENT = " " * 11
NOTE_LABEL = "note  "


@workspace_command()
def audit(
    options: WorkspaceOptions,
    item: ItemArgument,
    run: RunOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show an item's review history.

    Lists every review, adjudication and retraction, oldest first. STALE marks a review if the
    prediction or the golden answer has changed since the review.

    Example: fcreview audit runs/gpt4o live_simple_3-3-0
    """
    with open_workspace(options) as session:
        detail = session.store.read_detail(find_item_number(session, item, run))

    events = _build_event_objects(detail)
    if as_json:
        emit_json(*events)
        return

    for event in events:
        emit_lines(_format_event_lines(event, get_wrap_width()))
    if detail.history:
        print_message(f"{format_count(len(detail.history), 'event')} on {detail.key.id}")
    else:
        print_message(f"{detail.key.id} has no reviews")


def _build_event_objects(detail: ItemDetail) -> Iterator[dict[str, Any]]:
    """Build a JSON object for each event in the history of an item, oldest first.

    An event is a review, or a retraction of an earlier event. `retracts` is the id of the event
    that this event retracts, or null. `retracted_by` is the id of the event that retracts this
    event, or null. `blind` is "yes", "no" or "unknown".
    """
    retraction_ids = {}
    for event in detail.history:
        if event.retracts:
            # Annotators can retract only their own events.
            retraction_ids[event.retracts, event.annotator] = event.event

    retracted_events = find_retracted_events(detail.history)
    for event in detail.history:
        identity = (event.event, event.annotator)
        retracted_by = None
        if identity in retracted_events:
            retracted_by = retraction_ids[identity]
        yield _build_event_object(detail, event, retracted_by)


def _build_event_object(
    detail: ItemDetail, event: Event, retracted_by: str | None
) -> dict[str, Any]:
    """Build the JSON object of an event: who recorded what, and on which state of the item."""
    # The verdict has the older name `value`.
    annotation = {name: getattr(event, name) for name in ANNOTATION_FIELDS if name != "verdict"}
    return {
        "time": event.time,
        "annotator": event.annotator,
        "act": event.act,
        "target": event.target,
        "criterion": event.criterion,
        "value": event.verdict,
        **annotation,
        "blind": BLIND_TEXTS[event.blind],
        "queue": event.queue,
        "presentation": event.presentation or 1,
        "bulk": event.bulk,
        "retracts": event.retracts,
        "retracted_by": retracted_by,
        "stale": is_stale(event, detail.item.prediction_hash, detail.item.golden_hash),
        "prediction_hash": event.prediction_hash,
        "golden_hash": event.golden_hash,
        "event": event.event,
    }


def _format_event_lines(event: dict[str, Any], width: int) -> Iterator[str]:
    """Format an event as text: a line with its time, its annotator and marks, its summary, and its
    note.
    """
    marks = ", ".join(_list_event_marks(event))
    yield f"{sanitize(event['time'])}  {sanitize(event['annotator'])}   {marks}"

    summary_width = width - len(EVENT_INDENT)
    for row in sanitize_and_wrap(_format_event_summary(event), summary_width):
        yield EVENT_INDENT + row

    if event["note"] is None:
        return
    note = event["note"] or "(cleared)"
    label = NOTE_LABEL
    for row in sanitize_and_wrap(note, summary_width - len(NOTE_LABEL)):
        yield EVENT_INDENT + label + row
        # Only the first row of the note has the label.
        label = " " * len(NOTE_LABEL)


def _list_event_marks(event: dict[str, Any]) -> list[str]:
    """List the id of an event and everything unusual about it, such as `queue pilot` or `STALE`."""
    marks = [f"event {_shorten_id(event['event'])}", f"blind: {event['blind']}"]
    if event["queue"]:
        marks.append(f"queue {sanitize(event['queue'])}")
    if event["presentation"] > 1:
        marks.append("hidden duplicate (counts only for self-agreement)")
    if event["bulk"]:
        marks.append("bulk review")
    if event["retracted_by"]:
        marks.append(f"retracted by {_shorten_id(event['retracted_by'])}")
    if event["stale"]:
        marks.append("STALE")
    return marks


def _shorten_id(event_id: str) -> str:
    return sanitize(event_id[:SHORT_ID_LENGTH])


def _format_event_summary(event: dict[str, Any]) -> str:
    """Format an event as `adjudicates item · correct pass · fault: golden · tags a, b`.

    The text is not sanitised.
    """
    if event["act"] == "retract":
        return f"retracts {event['retracts'][:SHORT_ID_LENGTH]}"
    parts = [
        _format_event_target(event),
        _format_event_verdict(event),
        _format_override(event),
        *_list_event_details(event),
    ]
    return " · ".join(part for part in parts if part)


def _list_event_details(event: dict[str, Any]) -> Iterator[str]:
    """Yield the fault, the tags and the golden fix of a review, as far as it has them."""
    if event["fault"]:
        yield f"fault: {event['fault']}"
    if event["tags"] is not None:
        tags = ", ".join(event["tags"]) or "(none)"
        yield f"tags {tags}"
    if event["golden_fix"] is not None:
        yield f"golden fix {to_json_text(event['golden_fix'])}"
    if event.get("golden_status"):
        yield _format_fix_status(event["golden_status"], event.get("golden_verdicts"))


def _format_fix_status(status: str, new_verdicts: Any) -> str:
    """Say whether a correction counts, and how many verdicts it changes."""
    if status == REJECTED:
        return "golden answer of the dataset stays"
    n_changes = count_changed_predictions(new_verdicts)
    return f"golden fix {status}, changes {format_count(n_changes, 'verdict')}"


def _format_event_target(event: dict[str, Any]) -> str:
    target = event["target"] if event["target"] == ITEM else describe_address(event["target"])
    if event["act"] == "adjudicate":
        return f"adjudicates {target}"
    return target


def _format_event_verdict(event: dict[str, Any]) -> str:
    """Format `correct pass`. Without a verdict, only a criterion other than `correct` is named."""
    criterion: str = event["criterion"]
    if event["value"] is not None:
        return f"{criterion} {format_verdict(event['value'], criterion)}"
    if criterion != CORRECT:
        return criterion
    return ""


def _format_override(event: dict[str, Any]) -> str:
    """Format the automatic verdict that a review overrides: `overrides judge gpt-4o: wrong unit`.

    For a review of a whole item, the text names no verdict: `overrides: wrong unit`. If there is no
    reason either, it is empty.
    """
    override = event["overrules"] or {}
    reason = override.get("reason")

    words = ["overrides"]
    if event["target"] != ITEM:
        words += [name for name in (override.get("source"), override.get("by")) if name]
    text = " ".join(words)
    if isinstance(reason, str):
        return f"{text}: {reason}"

    names_verdict = len(words) > 1
    return text if names_verdict else ""

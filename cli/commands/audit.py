"""`fcreview audit`: print the review history of an item."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from fcreview.cli.commands.show import find_item_number
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
from fcreview.model.json_value import to_json_text
from fcreview.model.review import ANNOTATION_FIELDS, CORRECT, find_retracted_events, is_stale
from fcreview.model.sanitize import sanitize
from fcreview.model.wording import format_count, format_verdict
from fcreview.tui.text.lines import sanitize_and_wrap

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail

BLIND_TEXTS = {True: "yes", False: "no", None: "unknown"}

SHORT_ID_LENGTH = 8  # number of characters of an event id in text output; --json prints the full id

EVENT_INDENT = " " * 11


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
    for event in _build_event_objects(detail):
        if as_json:
            emit_json(event)
        else:
            emit_lines(_format_event_lines(event, get_wrap_width()))
    if not as_json:
        count = format_count(len(detail.history), "event")
        print_message(
            f"{count} on {detail.key.id}" if detail.history else f"{detail.key.id} has no reviews"
        )


def _build_event_objects(detail: ItemDetail) -> Iterator[dict[str, Any]]:
    """Build a JSON object for each event of the item, oldest first.

    `blind` is "yes", "no" or "unknown". `retracts` is the id of the event that this event retracts,
    or null. `retracted_by` is the id of the event that retracts this event, or null. Annotators can
    retract only their own events.
    """
    gone = find_retracted_events(detail.history)
    by = {(each.retracts, each.annotator): each.event for each in detail.history if each.retracts}
    for event in detail.history:
        own = (event.event, event.annotator)
        yield {
            **{
                name: getattr(event, name)
                for name in ("time", "annotator", "act", "target", "criterion")
            },
            "value": event.verdict,
            **{name: getattr(event, name) for name in ANNOTATION_FIELDS if name != "verdict"},
            "blind": BLIND_TEXTS[event.blind],
            "queue": event.queue,
            "presentation": event.presentation or 1,
            "bulk": event.bulk,
            "retracts": event.retracts,
            "retracted_by": by[own] if own in gone else None,
            "stale": is_stale(event, detail.item.prediction_hash, detail.item.golden_hash),
            **{name: getattr(event, name) for name in ("prediction_hash", "golden_hash", "event")},
        }


def _format_event_lines(event: dict[str, Any], width: int) -> Iterator[str]:
    marks = [f"event {sanitize(event['event'][:SHORT_ID_LENGTH])}", f"blind: {event['blind']}"]
    marks += [f"queue {sanitize(event['queue'])}"] if event["queue"] else []
    marks += (
        ["hidden duplicate (counts only for self-agreement)"] if event["presentation"] > 1 else []
    )
    marks += ["bulk review"] if event["bulk"] else []
    marks += (
        [f"retracted by {sanitize(event['retracted_by'][:SHORT_ID_LENGTH])}"]
        if event["retracted_by"]
        else []
    )
    marks += ["STALE"] if event["stale"] else []
    yield f"{sanitize(event['time'])}  {sanitize(event['annotator'])}   {', '.join(marks)}"
    yield from (
        EVENT_INDENT + row
        for row in sanitize_and_wrap(_format_event_summary(event), width - len(EVENT_INDENT))
    )
    if event["note"] is not None:
        for at, row in enumerate(
            sanitize_and_wrap(event["note"] or "(cleared)", width - len(EVENT_INDENT) - 6)
        ):
            yield EVENT_INDENT + ("note  " if at == 0 else " " * 6) + row


def _format_event_summary(event: dict[str, Any]) -> str:
    """Format an event as `adjudicates item · correct pass · fault: golden · tags a, b`,
    unsanitised.
    """
    verb = {"review": "", "adjudicate": "adjudicates ", "retract": "retracts "}[event["act"]]
    if event["act"] == "retract":
        return f"{verb}{event['retracts'][:SHORT_ID_LENGTH]}"
    where = "item" if event["target"] == ITEM else describe_address(event["target"])
    parts = [f"{verb}{where}"]
    if event["value"] is not None:
        parts.append(f"{event['criterion']} {format_verdict(event['value'], event['criterion'])}")
    elif event["criterion"] != CORRECT:
        parts.append(event["criterion"])
    override = event["overrules"] or {}
    # omitted for whole items
    source = [override.get("source"), override.get("by")] if event["target"] != ITEM else []
    why = f": {override['reason']}" if isinstance(override.get("reason"), str) else ""
    parts += (
        [f"overrides {' '.join(filter(None, source))}".rstrip() + why] if any(source) or why else []
    )
    parts += [f"fault: {event['fault']}"] if event["fault"] else []
    parts += [f"tags {', '.join(event['tags']) or '(none)'}"] if event["tags"] is not None else []
    parts += (
        [f"golden fix {to_json_text(event['golden_fix'])}"]
        if event["golden_fix"] is not None
        else []
    )
    return " · ".join(parts)

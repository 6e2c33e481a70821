"""`fcreview audit`: who said what of an item, when, and having seen what."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.commands.show import one_item
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, RunOption, WorkspaceOption
from fcreview.cli.output import cells, emit, emit_json, note
from fcreview.cli.workspace import Place, opened
from fcreview.model.address import ITEM, words
from fcreview.model.decision import is_stale, retractions
from fcreview.model.json_value import to_json_text
from fcreview.model.review import CORRECT
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of, word

if TYPE_CHECKING:
    from fcreview.store.rows import ItemDetail

BLIND = {True: "yes", False: "no", None: "unknown"}
SHORT = 8
"""Characters of an event's number that are shown; `--json` has all."""
INDENT = 11


def audit(
    path: PathArgument,
    item: Annotated[
        str, typer.Argument(metavar="ITEM", help="The item's id, as `items` lists it.", show_default=False)
    ],
    run: RunOption = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show who said what of an item, and when.

    Every act in the order of time: whether it was given blind, what was taken back, and what is about another
    prediction or golden answer (stale).

    Example: fcreview audit runs/gpt4o live_simple_3-3-0
    """
    with opened(Place([path], data, workspace, errata=errata)) as session:
        detail = session.store.detail(one_item(session, item, run))
    if as_json:
        for act in acts(detail):
            emit_json(act)
        return
    for act in acts(detail):
        for line in lines_of(act, cells()):
            emit(line)
    note(f"{count_of(len(detail.history), 'act')} on {detail.key.id}" if detail.history else "nobody said anything")


def acts(detail: ItemDetail) -> Iterator[dict[str, Any]]:
    """The item's events by time: {time, annotator, act, target, criterion, value, fault, tags, note, golden_fix,
    overrules, blind, queue, presentation, retracts, retracted_by, stale, prediction_hash, golden_hash, event}.

    `blind` is "yes", "no" or "unknown", as it is of every retraction. `retracts` is the event that a retraction takes
    back, `retracted_by` the retraction of an act that was taken back; else null. Nobody takes back what another said.
    """
    gone = retractions(detail.history)
    by = {(each.retracts, each.annotator): each.event for each in detail.history if each.retracts}
    for event in detail.history:
        own = (event.event, event.annotator)
        yield {
            **{name: getattr(event, name) for name in ("time", "annotator", "act", "target", "criterion")},
            "value": event.verdict,
            **{name: getattr(event, name) for name in ("fault", "tags", "note", "golden_fix", "overrules")},
            "blind": BLIND[event.blind],
            "queue": event.queue,
            "presentation": event.presentation or 1,
            "retracts": event.retracts,
            "retracted_by": by[own] if own in gone else None,
            "stale": is_stale(event, detail.item.prediction_hash, detail.item.golden_hash),
            **{name: getattr(event, name) for name in ("prediction_hash", "golden_hash", "event")},
        }


def lines_of(act: dict[str, Any], width: int) -> Iterator[str]:
    """One act as lines of safe text: when, who, how, and what below it."""
    from fcreview.tui.text.lines import wrap_text

    marks = [f"event {visible(act['event'][:SHORT])}", f"blind: {act['blind']}"]
    marks += [f"queue {visible(act['queue'])}"] if act["queue"] else []
    marks += ["second time, for self-agreement only"] if act["presentation"] > 1 else []
    marks += [f"taken back by {visible(act['retracted_by'][:SHORT])}"] if act["retracted_by"] else []
    marks += ["STALE"] if act["stale"] else []
    yield f"{visible(act['time'])}  {visible(act['annotator'])}   {', '.join(marks)}"
    for row in wrap_text(said(act), width - INDENT):
        yield " " * INDENT + row
    if act["note"] is not None:
        for at, row in enumerate(wrap_text(act["note"] or "(cleared)", width - INDENT - 6)):
            yield " " * INDENT + ("note  " if at == 0 else " " * 6) + row


def said(act: dict[str, Any]) -> str:
    """`settles item · correct pass · wrong: golden · tags a, b`. Not safe to draw yet."""
    doing = {"review": "", "adjudicate": "settles ", "retract": "takes back "}[act["act"]]
    if act["act"] == "retract":
        return f"{doing}{act['retracts'][:SHORT]}"
    where = "item" if act["target"] == ITEM else words(act["target"])
    parts = [f"{doing}{where}"]
    if act["value"] is not None:
        parts.append(f"{act['criterion']} {word(act['value'], act['criterion'])}")
    elif act["criterion"] != CORRECT:
        parts.append(act["criterion"])
    over = act["overrules"] or {}
    whose = [over.get("source"), over.get("by")] if act["target"] != ITEM else []  # of an item everybody knows that
    why = f": {over['reason']}" if isinstance(over.get("reason"), str) else ""
    parts += [f"overrules {' '.join(filter(None, whose))}".rstrip() + why] if any(whose) or why else []
    parts += [f"wrong: {act['fault']}"] if act["fault"] else []
    parts += [f"tags {', '.join(act['tags']) or '(none)'}"] if act["tags"] is not None else []
    parts += [f"golden fix {to_json_text(act['golden_fix'])}"] if act["golden_fix"] is not None else []
    return " · ".join(parts)

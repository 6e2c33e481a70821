"""Read the texts of two panes."""

from __future__ import annotations

import json
from typing import Any

from textual.app import App

from fcreview.store.store import Store
from fcreview.tui.screens.item_pane import ItemPane
from fcreview.tui.screens.queue import QueueScreen
from fcreview.tui.screens.split_view import SplitView
from fcreview.tui.text.lines import plain_text
from fcreview.tui.widgets.document_view import LineBar

TWO, ONE = (160, 50), (80, 24)


def queue_screen(app: App[Any]) -> QueueScreen:
    queue = app.screen_stack[0]
    assert isinstance(queue, QueueScreen)
    return queue


def split_view(app: App[Any]) -> SplitView:
    return queue_screen(app).query_one(SplitView)


def list_item_id(app: App[Any]) -> str:
    """Return the id of the row at the list's cursor."""
    rows = queue_screen(app).list
    row = rows.row_at(rows.cursor) if rows.total else None
    return row.id if row is not None else ""


def header_item_id(app: App[Any]) -> str:
    """Return the id in the header of the item, or an empty text if no item is shown."""
    panes = queue_screen(app).query(ItemPane)
    if not panes or not panes.first().visible or not panes.first().size:
        return ""
    return plain_text(panes.first().query_one("#item-header", LineBar).line).lstrip("▸").split()[0]


def status_text(app: App[Any]) -> str:
    return plain_text(queue_screen(app).query_one("#item-status", LineBar).line)


def focused_pane(app: App[Any]) -> str:
    """Return the pane with the focus. The list marks the whole row only if it has the focus."""
    return "list" if queue_screen(app).list.reverse_cursor else "item"


def read_verdicts(store: Store) -> list[tuple[str, Any]]:
    """Return (item id, verdict) of all reviews in the journal, in order, also of undone ones."""
    path = store.workspace.reviews / "alice.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [
        (each["key"]["id"], each.get("verdict"))
        for each in map(json.loads, lines)
        if each["act"] == "review"
    ]

"""What two panes show, as a person reads it."""

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


def queue_of(app: App[Any]) -> QueueScreen:
    queue = app.screen_stack[0]
    assert isinstance(queue, QueueScreen)
    return queue


def panes_of(app: App[Any]) -> SplitView:
    return queue_of(app).query_one(SplitView)


def listed(app: App[Any]) -> str:
    """The id under the list's cursor."""
    rows = queue_of(app).list
    row = rows.row_at(rows.cursor) if rows.total else None
    return row.id if row is not None else ""


def named(app: App[Any]) -> str:
    """The id that the item's header names; empty where no item is shown."""
    panes = queue_of(app).query(ItemPane)
    if not panes or not panes.first().visible or not panes.first().size:
        return ""
    return plain_text(panes.first().query_one("#item-header", LineBar).line).split()[0]


def status(app: App[Any]) -> str:
    return plain_text(queue_of(app).query_one("#item-status", LineBar).line)


def focused(app: App[Any]) -> str:
    """The pane with the focus, as it is told without colour: only the list with the focus marks the whole row."""
    return "list" if queue_of(app).list.reverse_cursor else "item"


def journal(store: Store) -> list[tuple[str, Any]]:
    """(item's id, verdict) from disk, in order; undone ones too."""
    path = store.workspace.reviews / "alice.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return [(each["key"]["id"], each.get("verdict")) for each in map(json.loads, lines) if each["act"] == "review"]

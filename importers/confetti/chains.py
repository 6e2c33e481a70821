"""Which call records form one agent turn: recovered from the dialog-act records, which hold the turn's calls in order.

Source: format notes of the released data; all 109 dialogs of the release match name by name.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

CALL = re.compile(r"\s*([A-Za-z_]\w*(?:\.\w+)+)\(")


@dataclass(frozen=True, slots=True)
class Link:
    turn: str
    """`dialog_id` of the dialog-act record this call belongs to."""
    index: int
    length: int


def dialog(dialog_id: str) -> str:
    """The part both files share: the suffix counts calls in one and agent turns in the other."""
    return dialog_id.rpartition("_")[0]


def call_name(text: Any) -> str | None:
    """`Api.find(class=['x'])` -> `Api_find`; None for a reply in prose. Not parsed: parameter names may be Python
    keywords."""
    found = CALL.match(text) if isinstance(text, str) else None
    return found[1].replace(".", "_") if found else None


def chains(calls: Iterable[dict[str, Any]], acts: Iterable[dict[str, Any]]) -> dict[str, Link]:
    """Call record id -> link. Records of a dialog whose names do not line up are left out, not guessed."""
    waiting: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for call in calls:
        waiting[dialog(call["dialog_id"])].append(call)
    by_dialog: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for act in acts:
        by_dialog[dialog(act["dialog_id"])].append(act)
    links: dict[str, Link] = {}
    for key, records in waiting.items():
        found = _link(records, by_dialog.get(key, []))
        links.update(found or {})
    return links


def _link(records: list[dict[str, Any]], acts: list[dict[str, Any]]) -> dict[str, Link] | None:
    position, links = 0, {}
    for act in acts:
        said = act.get("ground_truth_content")
        names = [name for name in map(call_name, said if isinstance(said, list) else []) if name]
        here = records[position : position + len(names)]
        if [_golden_name(record) for record in here] != names:
            return None
        for index, record in enumerate(here):
            links[record["id"]] = Link(act["dialog_id"], index, len(names))
        position += len(names)
    return links if position == len(records) else None


def _golden_name(record: dict[str, Any]) -> str | None:
    golden = record.get("ground_truth")
    first = golden[0] if isinstance(golden, list) and golden else None
    return next(iter(first), None) if isinstance(first, dict) else None

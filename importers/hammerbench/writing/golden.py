"""Golden calls of HammerBench's dataset, and the copies of them that every log holds. A fix is the call `{"name",
"arguments"}` of one snapshot.

A conversation's later records repeat the calls of its earlier snapshots, so they change with them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import read_whole
from fcreview.importers.common.writing.records import Fixes, Json, only_fields, wrong_call
from fcreview.importers.hammerbench.files import split_id, type_of_folder
from fcreview.importers.hammerbench.snapshot import should_decline
from fcreview.model import Item, Run
from fcreview.plan import GoldenFixed, NoPlace, Rewritten, RunPlan

Snapshot = tuple[str, str, int]
"""(type, conversation, number from 1), see `files.split_id`."""
CALL = "function call"


def problem(run: Run, item: Item, fix: Json) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    if should_decline(item.category, fix if item.golden else ""):
        return "the right answer here is to decline: there is no golden call"
    if set(fix) != {"name", "arguments"}:
        return only_fields(fix, "name", "arguments") or "a golden call has name and arguments"
    name, given = fix["name"], fix["arguments"]
    wrong = wrong_call(name, given, [each | {"parameters": _open(each)} for each in item.functions])
    if wrong:
        return wrong
    odd = next((each for each, value in given.items() if isinstance(value, (list, dict)) or value is None), None)
    return f"{odd} is no text, number, true or false" if odd is not None else None


def _open(document: Json) -> Json:
    """Every slot is said to be required, which does not mean that it may be filled yet."""
    schema = document.get("parameters")
    return {key: value for key, value in schema.items() if key != "required"} if isinstance(schema, dict) else {}


def regolden(plan: RunPlan, fixes: Fixes) -> Iterator[Rewritten | GoldenFixed | NoPlace]:
    """The dataset's files, `MT_0.json` among them, and the logs with the golden calls that they repeat."""
    wanted = {split_id(item): ((where, item), fix) for (where, item), fix in fixes.items()}
    found: set[Snapshot] = set()
    for path in dict.fromkeys([*plan.data, *plan.results]):
        raw = read_whole(path)
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        before = json.dumps(value)
        changes = list(_labels(path, value, wanted) if path in plan.results else _messages(path, value, wanted))
        if json.dumps(value) == before:
            continue
        text = _styled(value, json.loads(before), raw)
        if text is None:
            yield NoPlace(f"golden answers in {path.name}, whose lay-out is not known", len(changes))
            continue
        yield Rewritten(path, text)
        for snapshot, old, new in changes:
            if path not in plan.results and snapshot not in found:
                found.add(snapshot)
                yield GoldenFixed(wanted[snapshot][0], path, old, new)
    if lost := len(wanted.keys() - found):
        yield NoPlace("golden answers that the dataset does not have", lost)


Changes = Iterator[tuple[Snapshot, Any, Any]]


def _messages(path: Path, value: Any, wanted: dict[Snapshot, tuple[tuple[str, str], Json]]) -> Changes:
    """Replaces, in records of the dataset, the calls of snapshots; of the longest record that has one it is told."""
    legacy = type_of_folder(path.parent) if path.name == "MT_0.json" else None
    for place, record in enumerate(value if isinstance(value, list) else []):
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            continue
        stated = record.get("id", place)
        kind, conversation, _ = (legacy, str(stated), 1) if legacy else split_id(str(stated))
        calls = [each for each in record["messages"] if isinstance(each, dict) and each.get("role") == CALL]
        for number, message in enumerate(calls, 1):
            here = (str(kind), conversation, number)
            if here in wanted and message.get("content") != wanted[here][1]:
                old, message["content"] = message.get("content"), wanted[here][1]
                yield here, old, message["content"]


def _labels(path: Path, value: Any, wanted: dict[Snapshot, tuple[tuple[str, str], Json]]) -> Changes:
    for here, record in _snapshots(path, value):
        if here in wanted and isinstance(record, dict) and record.get("label") != wanted[here][1]:
            old, record["label"] = record.get("label"), wanted[here][1]
            yield here, old, record["label"]


def _snapshots(path: Path, value: Any) -> Iterator[tuple[Snapshot, Any]]:
    if path.name != "MT_res.json":
        for record in value if isinstance(value, list) else []:
            if isinstance(record, dict):
                yield split_id(str(record.get("id"))), record
        return
    source = path.parent / "MT_0.json"
    known = json.loads(read_whole(source)) if source.is_file() else []
    kind = type_of_folder(path.parent) or path.parent.name
    for c, entry in enumerate(value if isinstance(value, list) else []):
        name = known[c].get("id", c) if c < len(known) and isinstance(known[c], dict) else c
        for s, record in enumerate(entry.get("FC_res") or [] if isinstance(entry, dict) else [], 1):
            yield (kind, str(name), s), record


def _styled(value: Any, before: Any, raw: bytes) -> bytes | None:
    """JSON laid out as the file was; None if that cannot be had with any usual lay-out."""
    text = raw.decode("utf-8", "replace")
    for indent in (4, 2, 1, None, 0, 3, 8):
        for escaped in (False, True):
            for end in ("", "\n"):
                if json.dumps(before, indent=indent, ensure_ascii=escaped) + end == text:
                    return (json.dumps(value, indent=indent, ensure_ascii=escaped) + end).encode()
    return None

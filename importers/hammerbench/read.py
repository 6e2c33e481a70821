"""HammerBench items: a snapshot each, from flat logs or per-conversation folders.

What lies beside MT_res.json: the scorer's badcase.csv, and a judge's recorded replies and flags.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import read_json
from fcreview.importers.common.records import read_function_docs, fill_safely
from fcreview.importers.hammerbench.dialogue import choose_parser, parse_log_input, read_dialogue
from fcreview.importers.hammerbench.discovery import DATASET_FILE_NAME, split_item_id, get_folder_type
from fcreview.importers.hammerbench.judge import SAME_NAMES_KEY
from fcreview.importers.hammerbench.snapshot import SnapshotSource, fill_snapshot_item
from fcreview.model.item import ImportIssue, Item, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.run_plan import RunPlan


@dataclass(slots=True)
class CompanionVerdicts:
    scores: list[tuple[bool, list[bool]]] = field(default_factory=list)
    """A conversation each, from badcase.csv: the first snapshot's name is right, and args_ok of every snapshot."""
    replies: list[list[str]] = field(default_factory=list)
    flags: list[list[bool]] = field(default_factory=list)

    def add(self, item: Item, conversation: int, snapshot: int) -> None:
        """The official and judge verdicts of one snapshot, where they were recorded."""
        if conversation < len(self.scores):
            named, flags = self.scores[conversation]
            if snapshot < len(flags):
                item.official = named and flags[snapshot]
                official = Verdict("official", item.official, by="badcase.csv")
                item.verdicts.insert(0, official)
                item.verdicts.append(Verdict("official", named, criterion="func_ok", by="badcase.csv, first snapshot"))
                item.verdicts.append(Verdict("official", flags[snapshot], criterion="args_ok", by="badcase.csv"))
        reply = _get_cell(self.replies, conversation, snapshot)
        flag = _get_cell(self.flags, conversation, snapshot)
        if flag is None and reply is not None:
            flag = "True" in reply
        if flag is not None:
            same = item.extra.metadata[SAME_NAMES_KEY] = _has_same_names(item)
            item.judge = bool(flag) and same
            text = reply.strip() if reply is not None else None
            item.verdicts.append(Verdict("judge", item.judge, rationale=text, by="recorded judge"))
            item.verdicts.append(Verdict("judge", item.judge, criterion="args_ok_llm", by="recorded judge"))
            item.verdicts.append(
                Verdict("judge", bool(flag), criterion="equivalent", rationale=text, by="recorded judge, as replied")
            )


def _has_same_names(item: Item) -> bool:
    """The evaluator's condition on a judge's yes: same function, same set of arguments."""
    if not item.golden or not item.predicted or item.predicted[0].arguments is None:
        return False
    golden, predicted = item.golden[0], item.predicted[0]
    return golden.name == predicted.name and (golden.arguments or {}).keys() == (predicted.arguments or {}).keys()


def _get_cell(rows: list[list[Any]], conversation: int, snapshot: int) -> Any:
    row = rows[conversation] if conversation < len(rows) else []
    return row[snapshot] if snapshot < len(row) else None


def _count_snapshots(entry: Any) -> int:
    snapshots = entry.get("FC_res") if isinstance(entry, dict) else None
    return len(snapshots) if isinstance(snapshots, list) else 0


def read_companion_files(folder: Path, results: list[Any], issues: list[ImportIssue]) -> CompanionVerdicts:
    found = CompanionVerdicts()
    sizes = [_count_snapshots(entry) for entry in results]
    if (folder / "badcase.csv").is_file():
        found.scores = _read_badcase(folder / "badcase.csv", sizes, issues)
    if (folder / "turn_flags_res.json").is_file():
        flags = read_json(folder / "turn_flags_res.json", issues, list) or []
        found.flags = [row if isinstance(row, list) else [] for row in flags]
    if (folder / "LLM_check_response.json").is_file() and (folder / "LLM_check_L.json").is_file():
        replies = read_json(folder / "LLM_check_response.json", issues, list) or []
        offsets = read_json(folder / "LLM_check_L.json", issues, list) or []
        cuts = [int(offset) for offset in offsets if isinstance(offset, int)]
        rows = [[str(r) for r in replies[a:b]] for a, b in pairwise(cuts)]
        if [len(row) for row in rows] == sizes:
            found.replies = rows
        else:
            text = "judge replies do not line up with the snapshots (a filtered copy): only turn_flags_res.json is used"
            issues.append(ImportIssue(str(folder / "LLM_check_response.json"), None, text))
    return found


def _read_badcase(path: Path, sizes: list[int], issues: list[ImportIssue]) -> list[tuple[bool, list[bool]]]:
    csv.field_size_limit(1 << 27)
    rows: list[tuple[bool, list[bool]]] = []
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file):
                flags = json.loads((row.get("Args") or "[]").lower())
                rows.append((row.get("Func Name") == "True", [bool(flag) for flag in flags]))
    except (OSError, csv.Error, ValueError) as error:
        issues.append(ImportIssue(str(path), len(rows) + 2, f"cannot be read further: {error}"))
    if [len(flags) for _, flags in rows] != sizes:
        issues.append(ImportIssue(str(path), None, "does not line up with MT_res.json: its verdicts are left out"))
        return []
    return rows


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    for path in plan.results:
        yield from _read_conversations(path, plan) if path.name == "MT_res.json" else _read_flat_log(path, plan)


def _read_flat_log(path: Path, plan: RunPlan) -> Iterator[Item | ImportIssue]:
    issues: list[ImportIssue] = []
    log = read_json(path, issues, list) or []
    dataset = _read_dataset(plan.data, issues)
    yield from issues
    golden: dict[tuple[str, str], dict[str, Any]] = {}
    seen: set[str] = set()
    for position, record in enumerate(log, 1):
        if not isinstance(record, dict) or "predict" not in record:
            yield ImportIssue(str(path), None, f"element {position} of the array is no log record", repr(record)[:300])
            continue
        known_id = str(record.get("id", f"unnamed_0_{position}"))
        name = known_id if known_id not in seen else f"{known_id}#{position}"
        if name != known_id:
            yield ImportIssue(str(path), None, f"{known_id} stands in the log twice; kept as {name}", item=name)
        seen.add(known_id)
        kind, conversation, number = split_item_id(known_id)
        item = Item(id=name, category=kind or "unknown", group=f"{kind}_{conversation}" if kind else None)
        earlier = golden.setdefault((kind, conversation), {})
        given = _make_snapshot_source(item, record, path, position, plan, earlier)
        yield fill_safely(item, partial(_fill_flat_item, item, given, record, dataset.get(known_id), number))
        earlier.update(_get_arguments(given.label))


def _make_snapshot_source(item: Item, record: dict[str, Any], path: Path, place: int, plan: RunPlan, earlier: dict[str, Any]) -> SnapshotSource:
    """What the snapshot is made of, but for its dialogue and tools; notes the place in the item."""
    item.file, item.line = str(path), place
    label = record.get("label")
    item.prediction_hash, item.golden_hash = answer_hash(record.get("predict")), answer_hash(label)
    return SnapshotSource(record.get("predict"), label, [], [], plan.run.language, choose_parser(str(path)), dict(earlier))


def _fill_flat_item(item: Item, given: SnapshotSource, record: dict[str, Any], known: dict[str, Any] | None, number: int) -> None:
    if known:
        single = item.category.startswith(("ST_", "ir_"))
        given.messages = read_dialogue(known["messages"], 1 if single else number)
        given.tools = read_function_docs(known.get("multiple_tools") or known.get("single_tool"))
    else:
        given.messages = parse_log_input(str(record.get("input", "")))
    fill_snapshot_item(item, given)


def _get_arguments(label: Any) -> dict[str, Any]:
    arguments = label.get("arguments") if isinstance(label, dict) else None
    return arguments if isinstance(arguments, dict) else {}


@dataclass(slots=True)
class ConversationState:
    """One conversation of the per-conversation layout, while its snapshots are read."""

    number: int
    """From 0: its place in `MT_res.json` and in the files beside it."""
    record: dict[str, Any]
    """Of `MT_0.json`; empty if it is not there."""
    companions: CompanionVerdicts
    first_func_ok: bool | None = None
    """func_ok of its first snapshot."""
    golden: dict[str, Any] = field(default_factory=dict)
    """Golden arguments of the snapshots so far."""


def _read_conversations(path: Path, plan: RunPlan) -> Iterator[Item | ImportIssue]:
    issues: list[ImportIssue] = []
    results = read_json(path, issues, list) or []
    source = path.parent / "MT_0.json"
    conversations = (read_json(source, issues, list) or []) if source.is_file() else []
    companions: CompanionVerdicts = read_companion_files(path.parent, results, issues)
    yield from issues
    kind = get_folder_type(path.parent) or path.parent.name
    for c, entry in enumerate(results):
        snapshots = entry.get("FC_res") if isinstance(entry, dict) else None
        if not isinstance(snapshots, list):
            yield ImportIssue(str(path), None, f"conversation {c} has no FC_res list", repr(entry)[:300])
            continue
        known = conversations[c] if c < len(conversations) and isinstance(conversations[c], dict) else {}
        group = f"{kind}_{known.get('id', c)}"
        conversation = ConversationState(c, known, companions)
        for s, record in enumerate(snapshots):
            if not isinstance(record, dict):
                what = f"snapshot {s + 1} of conversation {c} is no object"
                yield ImportIssue(str(path), None, what, repr(record)[:300])
                continue
            item = Item(id=f"{group}_{s + 1}", category=kind, group=group)
            given = _make_snapshot_source(item, record, path, c + 1, plan, conversation.golden)
            yield fill_safely(item, partial(_fill_conversation_item, item, given, record, conversation, s))
            if conversation.first_func_ok is None:
                named = [v.value for v in item.verdicts if v.criterion == "func_ok" and v.source == "rule"]
                conversation.first_func_ok = any(named)
            conversation.golden.update(_get_arguments(given.label))


def _fill_conversation_item(item: Item, given: SnapshotSource, record: dict[str, Any], conversation: ConversationState, snapshot: int) -> None:
    known = conversation.record
    if isinstance(known.get("messages"), list):
        given.messages = read_dialogue(known["messages"], snapshot + 1)
    given.messages = given.messages or parse_log_input(str(record.get("input", "")))
    given.tools = read_function_docs(known.get("single_tool" if snapshot else "multiple_tools"))
    fill_snapshot_item(item, given, first_func_ok=conversation.first_func_ok)
    conversation.companions.add(item, conversation.number, snapshot)


def _read_dataset(files: list[Path], issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    """Dataset records by id; those of older files, without ids of this form, are left out."""
    found: dict[str, dict[str, Any]] = {}
    for path in files:
        rows = (read_json(path, issues, list) or []) if DATASET_FILE_NAME.fullmatch(path.name) else []
        for row in rows:
            if isinstance(row, dict) and isinstance(row.get("id"), str) and isinstance(row.get("messages"), list):
                found.setdefault(row["id"], row)
    return found

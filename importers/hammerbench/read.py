"""Read HammerBench items, one for each snapshot, from flat logs or folders of conversations.

The files next to `MT_res.json` contain verdicts: `badcase.csv` of the evaluator, and the replies and flags of a judge.
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
from fcreview.importers.common.records import fill_safely, read_function_docs
from fcreview.importers.hammerbench.dialogue import choose_parser, parse_log_input, read_dialogue
from fcreview.importers.hammerbench.discovery import DATASET_FILE_NAME, get_folder_type, split_item_id
from fcreview.importers.hammerbench.snapshot import SnapshotSource, fill_snapshot_item
from fcreview.model.derivation import SAME_NAMES_KEY
from fcreview.model.item import ImportIssue, Item, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.run_plan import RunPlan


@dataclass(slots=True)
class CompanionVerdicts:
    """Verdicts from the files next to `MT_res.json`, by conversation and snapshot."""

    scores: list[tuple[bool, list[bool]]] = field(default_factory=list)
    """(`func_ok` of the first snapshot, `args_ok` of each snapshot) of each conversation, from `badcase.csv`."""
    replies: list[list[str]] = field(default_factory=list)
    """The judge's reply to each snapshot, as text, in a list for each conversation."""
    flags: list[list[bool]] = field(default_factory=list)
    """One list per conversation: for each snapshot, whether the judge accepts its arguments."""

    def add(self, item: Item, conversation: int, snapshot: int) -> None:
        """Add the official verdict and the judge verdicts of a snapshot to its item. Numbers are from 0."""
        if conversation < len(self.scores):
            name_ok, flags = self.scores[conversation]
            if snapshot < len(flags):
                item.official = name_ok and flags[snapshot]
                official = Verdict("official", item.official, by="badcase.csv")
                item.verdicts.insert(0, official)
                item.verdicts.append(
                    Verdict("official", name_ok, criterion="func_ok", by="badcase.csv, first snapshot")
                )
                item.verdicts.append(Verdict("official", flags[snapshot], criterion="args_ok", by="badcase.csv"))
        judge_reply = _get_cell(self.replies, conversation, snapshot)
        judge_flag = _get_cell(self.flags, conversation, snapshot)
        if judge_flag is None and judge_reply is not None:
            judge_flag = "True" in judge_reply
        if judge_flag is not None:
            same_names = item.extra.metadata[SAME_NAMES_KEY] = _has_same_names(item)
            item.judge = bool(judge_flag) and same_names
            rationale = judge_reply.strip() if judge_reply is not None else None
            item.verdicts.append(Verdict("judge", item.judge, rationale=rationale, by="recorded judge"))
            item.verdicts.append(Verdict("judge", item.judge, criterion="args_ok_llm", by="recorded judge"))
            by = "recorded judge, as replied"
            item.verdicts.append(Verdict("judge", bool(judge_flag), criterion="equivalent", rationale=rationale, by=by))


def _has_same_names(item: Item) -> bool:
    """Return whether function and argument names are the golden ones. If not, the evaluator ignores the judge."""
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
    """Read the files next to `MT_res.json`. Files that do not match its conversations are ignored with an issue."""
    companions = CompanionVerdicts()
    snapshot_counts = [_count_snapshots(entry) for entry in results]
    if (folder / "badcase.csv").is_file():
        companions.scores = _read_badcase(folder / "badcase.csv", snapshot_counts, issues)
    if (folder / "turn_flags_res.json").is_file():
        flags = read_json(folder / "turn_flags_res.json", issues, list) or []
        companions.flags = [row if isinstance(row, list) else [] for row in flags]
    if (folder / "LLM_check_response.json").is_file() and (folder / "LLM_check_L.json").is_file():
        replies = read_json(folder / "LLM_check_response.json", issues, list) or []
        offsets = read_json(folder / "LLM_check_L.json", issues, list) or []
        ranges = pairwise(int(offset) for offset in offsets if isinstance(offset, int))
        rows = [[str(reply) for reply in replies[start:end]] for start, end in ranges]
        if [len(row) for row in rows] == snapshot_counts:
            companions.replies = rows
        else:
            text = "replies do not match the snapshots. Only turn_flags_res.json is used."
            issues.append(ImportIssue(str(folder / "LLM_check_response.json"), None, text))
    return companions


def _read_badcase(path: Path, snapshot_counts: list[int], issues: list[ImportIssue]) -> list[tuple[bool, list[bool]]]:
    csv.field_size_limit(1 << 27)
    rows: list[tuple[bool, list[bool]]] = []
    try:
        with path.open(encoding="utf-8", errors="replace", newline="") as file:
            for row in csv.DictReader(file):
                flags = json.loads((row.get("Args") or "[]").lower())
                rows.append((row.get("Func Name") == "True", [bool(flag) for flag in flags]))
    except (OSError, csv.Error, ValueError) as error:
        issues.append(ImportIssue(str(path), len(rows) + 2, f"cannot read the rest of the file: {error}"))
    if [len(flags) for _, flags in rows] != snapshot_counts:
        issues.append(ImportIssue(str(path), None, "the file does not match MT_res.json, so its verdicts were skipped"))
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
    golden_by_conversation: dict[tuple[str, str], dict[str, Any]] = {}
    seen_ids: set[str] = set()
    for position, record in enumerate(log, 1):
        if not isinstance(record, dict) or "predict" not in record:
            text = f"element {position} of the array is not a log record"
            yield ImportIssue(str(path), None, text, repr(record)[:300])
            continue
        recorded_id = str(record.get("id", f"unnamed_0_{position}"))
        name = recorded_id if recorded_id not in seen_ids else f"{recorded_id}#{position}"
        if name != recorded_id:
            text = f"{recorded_id} occurs more than once in the log. This record is imported as {name}."
            yield ImportIssue(str(path), None, text, item=name)
        seen_ids.add(recorded_id)
        type_name, conversation, number = split_item_id(recorded_id)
        group = f"{type_name}_{conversation}" if type_name else None
        item = Item(id=name, category=type_name or "unknown", group=group)
        earlier_golden = golden_by_conversation.setdefault((type_name, conversation), {})
        source = _make_snapshot_source(item, record, path, position, plan, earlier_golden)
        yield fill_safely(item, partial(_fill_flat_item, item, source, record, dataset.get(recorded_id), number))
        earlier_golden.update(_get_arguments(source.label))


def _make_snapshot_source(
    item: Item, record: dict[str, Any], path: Path, position: int, plan: RunPlan, earlier_golden: dict[str, Any]
) -> SnapshotSource:
    """Make the source of a snapshot without dialogue and functions, and set file, position and hashes of the item."""
    item.file, item.line = str(path), position
    label = record.get("label")
    item.prediction_hash, item.golden_hash = answer_hash(record.get("predict")), answer_hash(label)
    parser = choose_parser(str(path))
    return SnapshotSource(record.get("predict"), label, [], [], plan.run.language, parser, dict(earlier_golden))


def _fill_flat_item(
    item: Item, source: SnapshotSource, record: dict[str, Any], dataset_record: dict[str, Any] | None, snapshot: int
) -> None:
    if dataset_record:
        is_single_turn = item.category.startswith(("ST_", "ir_"))
        source.messages = read_dialogue(dataset_record["messages"], 1 if is_single_turn else snapshot)
        source.tools = read_function_docs(dataset_record.get("multiple_tools") or dataset_record.get("single_tool"))
    else:
        source.messages = parse_log_input(str(record.get("input", "")))
    fill_snapshot_item(item, source)


def _get_arguments(label: Any) -> dict[str, Any]:
    arguments = label.get("arguments") if isinstance(label, dict) else None
    return arguments if isinstance(arguments, dict) else {}


@dataclass(slots=True)
class ConversationState:
    """State of a conversation in a folder of conversations while its snapshots are read."""

    number: int
    """Index in `MT_res.json` and in the files next to it."""
    record: dict[str, Any]
    """Record in `MT_0.json`; empty if it is not found."""
    companions: CompanionVerdicts
    first_func_ok: bool | None = None
    """`func_ok` of the first snapshot; None before it is read."""
    golden: dict[str, Any] = field(default_factory=dict)
    """Golden arguments of the snapshots read so far."""


def _read_conversations(path: Path, plan: RunPlan) -> Iterator[Item | ImportIssue]:
    issues: list[ImportIssue] = []
    results = read_json(path, issues, list) or []
    source = path.parent / "MT_0.json"
    dataset_records = (read_json(source, issues, list) or []) if source.is_file() else []
    companions: CompanionVerdicts = read_companion_files(path.parent, results, issues)
    yield from issues
    type_name = get_folder_type(path.parent) or path.parent.name
    for index, entry in enumerate(results):
        snapshots = entry.get("FC_res") if isinstance(entry, dict) else None
        if not isinstance(snapshots, list):
            yield ImportIssue(str(path), None, f"conversation {index} has no FC_res list", repr(entry)[:300])
            continue
        dataset_record = dataset_records[index] if index < len(dataset_records) else {}
        dataset_record = dataset_record if isinstance(dataset_record, dict) else {}
        group = f"{type_name}_{dataset_record.get('id', index)}"
        conversation = ConversationState(index, dataset_record, companions)
        for snapshot, record in enumerate(snapshots):
            if not isinstance(record, dict):
                text = f"snapshot {snapshot + 1} of conversation {index} is not an object"
                yield ImportIssue(str(path), None, text, repr(record)[:300])
                continue
            item = Item(id=f"{group}_{snapshot + 1}", category=type_name, group=group)
            snapshot_source = _make_snapshot_source(item, record, path, index + 1, plan, conversation.golden)
            fill = partial(_fill_conversation_item, item, snapshot_source, record, conversation, snapshot)
            yield fill_safely(item, fill)
            if conversation.first_func_ok is None:
                func_ok = [v.value for v in item.verdicts if v.criterion == "func_ok" and v.source == "rule"]
                conversation.first_func_ok = any(func_ok)
            conversation.golden.update(_get_arguments(snapshot_source.label))


def _fill_conversation_item(
    item: Item, source: SnapshotSource, record: dict[str, Any], conversation: ConversationState, snapshot: int
) -> None:
    dataset_record = conversation.record
    if isinstance(dataset_record.get("messages"), list):
        source.messages = read_dialogue(dataset_record["messages"], snapshot + 1)
    source.messages = source.messages or parse_log_input(str(record.get("input", "")))
    source.tools = read_function_docs(dataset_record.get("single_tool" if snapshot else "multiple_tools"))
    fill_snapshot_item(item, source, first_func_ok=conversation.first_func_ok)
    conversation.companions.add(item, conversation.number, snapshot)


def _read_dataset(files: list[Path], issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    """Read the dataset records by id. Records of older files, whose ids have another form, are skipped."""
    dataset: dict[str, dict[str, Any]] = {}
    for path in files:
        records = (read_json(path, issues, list) or []) if DATASET_FILE_NAME.fullmatch(path.name) else []
        for record in records:
            if (
                isinstance(record, dict)
                and isinstance(record.get("id"), str)
                and isinstance(record.get("messages"), list)
                and dataset.setdefault(record["id"], record) != record
            ):
                text = f"{record['id']} occurs more than once, with different content. The first record is used"
                issues.append(ImportIssue(str(path), None, text, item=record["id"]))
    return dataset

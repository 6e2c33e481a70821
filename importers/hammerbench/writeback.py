"""The way back: this benchmark's own files by what people say.

`badcase.csv` with other verdicts: a row a conversation, written by pandas, with JSON of many lines in its cells.

Golden calls of HammerBench's dataset, and the copies of them that every log holds. A fix is the call `{"name",
"arguments"}` of one snapshot.

A conversation's later records repeat the calls of its earlier snapshots, so they change with them.

HammerBench's verdict files by what people say: `badcase.csv`, and a judge's flags and replies beside it.

Only the per-conversation generation has such files. A flat log holds answers and labels, and what the script prints of
them stands nowhere: there is no place in it for what people say. What the scripts printed is not copied.

HammerBench's golden calls from stored items, and the verdict with another one. Forms as in `golden`.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import read_json
from fcreview.importers.common.writeback import (
    GoldenFixes,
    JsonObject,
    CriterionKey,
    first_accepted_arguments,
    check_fix_fields,
    item_override,
    has_decoded_calls,
    find_unrepresentable,
    check_golden_call,
)
from fcreview.importers.hammerbench.checker import check_snapshot
from fcreview.importers.hammerbench.dialogue import choose_parser, parse_prediction
from fcreview.importers.hammerbench.discovery import split_item_id, get_folder_type
from fcreview.importers.hammerbench.judge import JUDGE_CRITERION, SAME_NAMES_KEY, get_snapshot_outcome
from fcreview.importers.hammerbench.read import CompanionVerdicts, read_companion_files
from fcreview.importers.hammerbench.snapshot import should_decline
from fcreview.model.address import ITEM
from fcreview.model.function_schema import get_parameters_schema
from fcreview.model.item import Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import CORRECT
from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan
from fcreview.safe_files import read_file

NAME_COLUMN, ARGUMENTS_COLUMN = "Func Name", "Args"


@dataclass(frozen=True, slots=True)
class ConversationFlags:
    """Of a conversation."""

    name_ok: bool
    """The first snapshot's function is right."""
    arguments: list[bool]
    """Of every snapshot."""


def rewrite_badcase(raw: bytes, flags: Sequence[ConversationFlags]) -> bytes | None:
    """The file with these flags, every other cell as it was; None if they are its own. `flags` are by row."""
    csv.field_size_limit(1 << 27)
    ending = "\r\n" if raw.split(b"\n", 1)[0].endswith(b"\r") else "\n"
    head, *rows = csv.reader(io.StringIO(raw.decode("utf-8", "replace"), newline=""))
    name, arguments = head.index(NAME_COLUMN), head.index(ARGUMENTS_COLUMN)
    new = [list(row) for row in rows]
    for row, said in zip(new, flags, strict=False):
        if row[name] != str(said.name_ok):
            row[name] = str(said.name_ok)
        if row[arguments] != str(said.arguments):
            row[arguments] = str(said.arguments)
    if new == rows:
        return None
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=ending).writerows([head, *new])
    return out.getvalue().encode("utf-8")


SnapshotKey = tuple[str, str, int]
"""(type, conversation, number from 1), see `files.split_id`."""
CALL_ROLE = "function call"


def check_golden_fix(run: Run, item: Item, fix: JsonObject) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    if should_decline(item.category, fix if item.golden else ""):
        return "the right answer here is to decline: there is no golden call"
    if set(fix) != {"name", "arguments"}:
        return check_fix_fields(fix, "name", "arguments") or "a golden call has name and arguments"
    name, given = fix["name"], fix["arguments"]
    wrong = check_golden_call(name, given, [each | {"parameters": _drop_required(each)} for each in item.functions])
    if wrong:
        return wrong
    odd = next((each for each, value in given.items() if isinstance(value, (list, dict)) or value is None), None)
    return f"{odd} is no text, number, true or false" if odd is not None else None


def _drop_required(document: JsonObject) -> JsonObject:
    """Every slot is said to be required, which does not mean that it may be filled yet."""
    return {key: value for key, value in get_parameters_schema(document).items() if key != "required"}


def rewrite_golden(plan: RunPlan, fixes: GoldenFixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """The dataset's files, `MT_0.json` among them, and the logs with the golden calls that they repeat."""
    wanted = {split_item_id(item): ((where, item), fix) for (where, item), fix in fixes.items()}
    found: set[SnapshotKey] = set()
    for path in dict.fromkeys([*plan.data, *plan.results]):
        raw = read_file(path)
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        before = json.dumps(value)
        changes = list(_replace_log_labels(path, value, wanted) if path in plan.results else _replace_dataset_calls(path, value, wanted))
        if json.dumps(value) == before:
            continue
        text = _dump_in_style_of(value, json.loads(before), raw)
        if text is None:
            yield Unrepresentable(f"golden answers in {path.name}, whose lay-out is not known", len(changes))
            continue
        yield RewrittenFile(path, text)
        for place, old, new in changes:
            if path not in plan.results and place not in found:
                found.add(place)
                yield AppliedGoldenFix(wanted[place][0], path, old, new)
    if lost := len(wanted.keys() - found):
        yield Unrepresentable("golden answers that the dataset does not have", lost)


GoldenChanges = Iterator[tuple[SnapshotKey, Any, Any]]


def _replace_dataset_calls(path: Path, value: Any, wanted: dict[SnapshotKey, tuple[tuple[str, str], JsonObject]]) -> GoldenChanges:
    """Replaces, in records of the dataset, the calls of snapshots; of the longest record that has one it is told."""
    legacy = get_folder_type(path.parent) if path.name == "MT_0.json" else None
    for place, record in enumerate(value if isinstance(value, list) else []):
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            continue
        stated = record.get("id", place)
        kind, conversation, _ = (legacy, str(stated), 1) if legacy else split_item_id(str(stated))
        calls = [each for each in record["messages"] if isinstance(each, dict) and each.get("role") == CALL_ROLE]
        for number, message in enumerate(calls, 1):
            here = (str(kind), conversation, number)
            if here in wanted and message.get("content") != wanted[here][1]:
                old, message["content"] = message.get("content"), wanted[here][1]
                yield here, old, message["content"]


def _replace_log_labels(path: Path, value: Any, wanted: dict[SnapshotKey, tuple[tuple[str, str], JsonObject]]) -> GoldenChanges:
    for here, record in _iter_log_records(path, value):
        if here in wanted and isinstance(record, dict) and record.get("label") != wanted[here][1]:
            old, record["label"] = record.get("label"), wanted[here][1]
            yield here, old, record["label"]


def _iter_log_records(path: Path, value: Any) -> Iterator[tuple[SnapshotKey, Any]]:
    if path.name != "MT_res.json":
        for record in value if isinstance(value, list) else []:
            if isinstance(record, dict):
                yield split_item_id(str(record.get("id"))), record
        return
    source = path.parent / "MT_0.json"
    known = json.loads(read_file(source)) if source.is_file() else []
    kind = get_folder_type(path.parent) or path.parent.name
    for c, entry in enumerate(value if isinstance(value, list) else []):
        name = known[c].get("id", c) if c < len(known) and isinstance(known[c], dict) else c
        for s, record in enumerate(entry.get("FC_res") or [] if isinstance(entry, dict) else [], 1):
            yield (kind, str(name), s), record


def _dump_in_style_of(value: Any, before: Any, raw: bytes) -> bytes | None:
    """JSON laid out as the file was; None if that cannot be had with any usual lay-out."""
    text = raw.decode("utf-8", "replace")
    for indent in (4, 2, 1, None, 0, 3, 8):
        for escaped in (False, True):
            for end in ("", "\n"):
                if json.dumps(before, indent=indent, ensure_ascii=escaped) + end == text:
                    return (json.dumps(value, indent=indent, ensure_ascii=escaped) + end).encode()
    return None


BADCASE_FILE, JUDGE_FLAGS_FILE, JUDGE_REPLIES_FILE = "badcase.csv", "turn_flags_res.json", "LLM_check_response.json"
JUDGE_CRITERIA = {JUDGE_CRITERION, "equivalent"}
SnapshotPosition = tuple[int, int]
"""(conversation, snapshot), both from 0."""


def rewrite_scores(plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    found: list[RewrittenFile] = []
    named: dict[str, bool] = {}
    for path in plan.results:
        if path.name != "MT_res.json" or not any(row.overrides for row in rows):
            continue
        results = read_json(path, [], list) or []
        part = locate_items(path, results, rows)
        companions = read_companion_files(path.parent, results, [])
        flags = [_override_flags(c, before, part) for c, before in enumerate(companions.scores)]
        named |= {row.id: flags[c].name_ok for (c, _), row in part.items() if c < len(flags)}
        found += _rewrite_folder(path.parent, part, companions, flags)
    yield from find_unrepresentable(rows, lambda row, key: _is_representable(row, key, named.get(row.id)))
    right = [row for row in rows if row.id in named and item_override(row) is True]
    if refused := sum(JUDGE_CRITERION in row.values and not row.metadata.get(SAME_NAMES_KEY) for row in right):
        yield Unrepresentable("the judge's yes to right answers with other names than the golden ones", refused)
    if rejecting := sum(row.values.get("rejected") is True for row in right):
        yield Unrepresentable("that right answers are no rejections: the script looks for the word itself", rejecting)
    yield from found


def find_summary_files(plan: RunPlan) -> list[Path]:
    folders = dict.fromkeys(path.parent for path in plan.results if path.name == "MT_res.json")
    return [path for folder in folders for path in sorted(folder.glob("evaluate_stdout_*.txt"))]


def _is_representable(row: ScoredItem, key: CriterionKey, named: bool | None) -> bool:
    """The name counts in the first snapshot only; the evaluator takes no judge's yes for other names of arguments.
    `named` is the file's word on the conversation's function, None without a file: no snapshot is right without it."""
    target, criterion = key
    if target != ITEM:
        return False
    if criterion in JUDGE_CRITERIA:
        return SAME_NAMES_KEY in row.metadata and (row.overrides[key] is False or bool(row.metadata[SAME_NAMES_KEY]))
    if named is None:
        return False
    if criterion == "func_ok":
        return split_item_id(row.id)[2] == 1
    return criterion == "args_ok" or (criterion == CORRECT and (named or row.overrides[key] is False))


def locate_items(path: Path, results: Sequence[Any], rows: Sequence[ScoredItem]) -> dict[SnapshotPosition, ScoredItem]:
    """The items of one `MT_res.json` by their place in it: named as `read` names them."""
    kind = get_folder_type(path.parent) or path.parent.name
    source = path.parent / "MT_0.json"
    known = (read_json(source, [], list) or []) if source.is_file() else []
    by_id: dict[str, list[ScoredItem]] = defaultdict(list)
    for row in rows:
        if row.category == kind:
            by_id[row.id].append(row)
    found: dict[SnapshotPosition, ScoredItem] = {}
    for c, entry in enumerate(results):
        snapshots = entry.get("FC_res") if isinstance(entry, dict) else None
        record = known[c] if c < len(known) and isinstance(known[c], dict) else {}
        for s in range(len(snapshots) if isinstance(snapshots, list) else 0):
            same = by_id.get(f"{kind}_{record.get('id', c)}_{s + 1}")
            if same:
                found[c, s] = same.pop(0)
    return found


def _rewrite_folder(
    folder: Path, rows: Mapping[SnapshotPosition, ScoredItem], companions: CompanionVerdicts, flags: Sequence[ConversationFlags]
) -> Iterator[RewrittenFile]:
    if flags:
        path = folder / BADCASE_FILE
        new = rewrite_badcase(read_file(path), flags)
        if new is not None:
            yield RewrittenFile(path, new)
    said = {place: value for place, row in rows.items() if (value := _get_overridden_reply(row)) is not None}
    changed = {place: value for place, value in said.items() if _get_recorded_reply(companions, place) not in (None, value)}
    if changed and companions.flags:
        replied = [list(row) for row in companions.flags]
        for (conversation, at), value in changed.items():
            replied[conversation][at] = value
        yield RewrittenFile(folder / JUDGE_FLAGS_FILE, _dump_indented(replied, read_file(folder / JUDGE_FLAGS_FILE)))
    if changed and companions.replies:
        replies = [list(row) for row in companions.replies]
        for (conversation, at), value in changed.items():
            replies[conversation][at] = f" {value}"
        flat = [reply for row in replies for reply in row]
        yield RewrittenFile(folder / JUDGE_REPLIES_FILE, _dump_indented(flat, read_file(folder / JUDGE_REPLIES_FILE)))


def _override_flags(conversation: int, before: tuple[bool, list[bool]], rows: Mapping[SnapshotPosition, ScoredItem]) -> ConversationFlags:
    named, flags = before
    first = rows.get((conversation, 0))
    if first is not None and first.overrides:
        said = get_snapshot_outcome(first).func_ok
        named = named if said is None else said
    new = list(flags)
    for at in range(len(flags)):
        row = rows.get((conversation, at))
        said = get_snapshot_outcome(row).args_ok if row is not None and row.overrides else None
        new[at] = flags[at] if said is None else said
    return ConversationFlags(named, new)


def _get_overridden_reply(row: ScoredItem) -> bool | None:
    """What the judge would have replied for the verdict that people's words come to."""
    if not row.overrides or JUDGE_CRITERION not in row.values:
        return None
    said = get_snapshot_outcome(row, JUDGE_CRITERION).args_ok
    if (ITEM, "equivalent") in row.overrides and isinstance(row.overrides[ITEM, "equivalent"], bool):
        return bool(row.overrides[ITEM, "equivalent"])
    return None if said is None or (not said and not row.metadata.get(SAME_NAMES_KEY)) else said


def _get_recorded_reply(companions: CompanionVerdicts, place: SnapshotPosition) -> bool | None:
    conversation, at = place
    rows: list[list[Any]] = companions.flags or companions.replies
    row = rows[conversation] if conversation < len(rows) else []
    if at >= len(row):
        return None
    return bool(row[at]) if companions.flags else "True" in row[at]


def _dump_indented(value: Any, like: bytes) -> bytes:
    """JSON indented as the file was."""
    second = like.split(b"\n", 2)[1] if b"\n" in like else b""
    indent = len(second) - len(second.lstrip(b" ")) or None
    text = json.dumps(value, ensure_ascii=like.isascii(), indent=indent)
    return text.encode("utf-8", "backslashreplace") + (b"\n" if like.endswith(b"\n") else b"")


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """The golden call as a fix of it; None where the right answer is to decline."""
    if len(item.golden) != 1 or not has_decoded_calls(item.golden):
        return None
    return {"name": item.golden[0].name, "arguments": first_accepted_arguments(item.golden[0])}


def recheck(run: Run, item: Item, fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """The rule verdict with that golden call. In the per-conversation generation the first snapshot's function decides
    for all of them: what it was stays so.

    The prediction is in the item: these files are one JSON array, whose records have no place of their own.
    """
    raw = item.predicted[0].raw if item.predicted else next((m.content for m in reversed(item.messages)), None)
    if raw is None:
        return None
    outcome = check_snapshot(parse_prediction(raw, choose_parser(f"{run.path}/{item.file}")), raw, fix, run.language)
    named = outcome.func_ok if run.generation != "conversation" or item.id.endswith("_1") else _recover_first_func_ok(item)
    return None if named is None else named and outcome.args_ok


def _recover_first_func_ok(item: Item) -> bool | None:
    """Whether the conversation's first function was right, as far as the verdict on a later snapshot tells."""
    error = item.rule_error_type
    return None if error in ("text", "refused") else error not in ("wrong_function", "wrong_first_function")

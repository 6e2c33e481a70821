"""Write reviews and golden fixes to HammerBench's own files.

Overrides change `badcase.csv` and the judge's flags and replies next to it. Only folders of
conversations have these files. A flat log contains answers and labels, but no verdicts. The
evaluator writes `badcase.csv` with pandas. The file has one row for each conversation, and its
cells may contain line feeds.

A golden fix is the call `{"name", "arguments"}` of one snapshot. It changes the dataset and the
copies of golden calls in every log. Later records of a conversation repeat the calls of earlier
snapshots, so they change too.
"""

from __future__ import annotations

import csv
import io
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

from fcreview.importers.common import writeback
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.common.writeback import CriterionKey, GoldenFixes, JsonObject
from fcreview.importers.hammerbench.checker import (
    CompanionVerdicts,
    ConversationFlags,
    check_snapshot,
    choose_parser_name,
    count_snapshots,
    get_snapshot_value,
    load_companion_verdicts,
    parse_prediction,
)
from fcreview.importers.hammerbench.discovery import (
    BADCASE_FILE,
    JUDGE_FLAGS_FILE,
    JUDGE_REPLIES_FILE,
    TYPE_FOLDER_NAME,
    SnapshotKey,
    get_dataset_type,
    split_item_id,
)
from fcreview.importers.hammerbench.leaderboard import JUDGE_CRITERION, get_snapshot_outcome
from fcreview.importers.hammerbench.read import (
    label_to_golden_call,
    load_adjacent_dataset,
    should_decline,
)
from fcreview.model.address import ITEM
from fcreview.model.function_schema import get_parameters_schema
from fcreview.model.item import Call, Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import CORRECT
from fcreview.model.verdict import SAME_NAMES_KEY
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

NAME_COLUMN, ARGUMENTS_COLUMN = "Func Name", "Args"


def replace_badcase_flags(content: bytes, flags: Sequence[ConversationFlags]) -> bytes | None:
    """Return the content of `badcase.csv` with new flags in each row, or None if no flag
    changes.
    """
    csv.field_size_limit(1 << 27)
    ending = "\r\n" if content.split(b"\n", 1)[0].endswith(b"\r") else "\n"
    header, *rows = csv.reader(io.StringIO(content.decode("utf-8", "replace"), newline=""))
    name_index, arguments_index = header.index(NAME_COLUMN), header.index(ARGUMENTS_COLUMN)
    new_rows = [list(row) for row in rows]
    for row, row_flags in zip(new_rows, flags, strict=False):
        row[name_index] = str(row_flags.name_ok)
        row[arguments_index] = str(row_flags.arguments)
    if new_rows == rows:
        return None
    out = io.StringIO(newline="")
    csv.writer(out, lineterminator=ending).writerows([header, *new_rows])
    return out.getvalue().encode("utf-8")


FixesByKey = dict[SnapshotKey, tuple[tuple[str, str], JsonObject]]
"""Snapshot -> the category and id of its item, and the golden fix."""


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    if should_decline(item.category, golden_fix if item.golden else ""):
        return "this item has no golden call, because the correct answer is to decline"
    if set(golden_fix) != {"name", "arguments"}:
        error = writeback.check_fix_fields(golden_fix, "name", "arguments")
        return error or "a golden call must have the fields name and arguments"
    name, arguments = golden_fix["name"], golden_fix["arguments"]
    # The function docs also require parameters for which the user has not yet stated a value.
    functions = [
        each
        | {
            "parameters": {
                key: value
                for key, value in get_parameters_schema(each).items()
                if key != "required"
            }
        }
        for each in item.functions
    ]
    if error := writeback.check_golden_call(name, arguments, functions):
        return error
    for argument, value in arguments.items():
        if isinstance(value, (list, dict)) or value is None:
            return f"the value of {argument} must be a string, a number, true or false"
    return None


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Yield the dataset files (including `MT_0.json`) and the logs with the golden fixes."""
    fixes_by_key: FixesByKey = {
        split_item_id(item[1]): (item, golden_fix) for item, golden_fix in fixes.items()
    }
    applied_keys: set[SnapshotKey] = set()
    for path in dict.fromkeys([*plan.data, *plan.results]):
        raw = read_file(path)
        try:
            value = json.loads(raw)
        except (ValueError, RecursionError):
            continue
        before = json.dumps(value)
        replace = _replace_log_labels if path in plan.results else _replace_dataset_calls
        changes = list(replace(path, value, fixes_by_key))
        if json.dumps(value) == before:
            continue
        new_content = _dump_with_layout_of(value, json.loads(before), raw)
        if new_content is None:
            yield Unrepresentable(
                f"golden answers in {path.name}, whose JSON layout is unknown", len(changes)
            )
            continue
        yield RewrittenFile(path, new_content)
        for key, old, new in changes:
            if path not in plan.results and key not in applied_keys:
                applied_keys.add(key)
                yield AppliedGoldenFix(fixes_by_key[key][0], path=path, old=old, new=new)
    if n_missing := len(fixes_by_key.keys() - applied_keys):
        yield Unrepresentable("golden answers that the dataset does not contain", n_missing)


GoldenChanges = Iterator[tuple[SnapshotKey, Any, Any]]
"""The snapshot, the old golden call and the new golden call of each change."""


def _replace_dataset_calls(path: Path, records: Any, fixes_by_key: FixesByKey) -> GoldenChanges:
    """Replace golden calls in dataset records, in place.

    Yield a change for every record that contains the call.
    """
    folder_match = (
        TYPE_FOLDER_NAME.fullmatch(path.parent.name) if path.name == "MT_0.json" else None
    )
    for index, record in enumerate(as_list(records)):
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            continue
        record_id = str(record.get("id", index))
        type_name, conversation, _ = (
            (folder_match[1], record_id, 1) if folder_match else split_item_id(record_id)
        )
        calls = [
            each for each in list_objects(record["messages"]) if each.get("role") == "function call"
        ]
        for number, message in enumerate(calls, 1):
            key = (type_name, conversation, number)
            if key in fixes_by_key and message.get("content") != fixes_by_key[key][1]:
                old, message["content"] = message.get("content"), fixes_by_key[key][1]
                yield key, old, message["content"]


def _replace_log_labels(path: Path, records: Any, fixes_by_key: FixesByKey) -> GoldenChanges:
    for key, record in _iter_log_records(path, records):
        if (
            key in fixes_by_key
            and isinstance(record, dict)
            and record.get("label") != fixes_by_key[key][1]
        ):
            old, record["label"] = record.get("label"), fixes_by_key[key][1]
            yield key, old, record["label"]


def _iter_log_records(path: Path, records: Any) -> Iterator[tuple[SnapshotKey, Any]]:
    if path.name != "MT_res.json":
        yield from (
            (split_item_id(str(record.get("id"))), record) for record in list_objects(records)
        )
        return
    dataset_records, type_name = (
        load_adjacent_dataset(path.parent, []),
        get_dataset_type(path.parent),
    )
    for index, entry in enumerate(as_list(records)):
        conversation = dataset_records.get(index, {}).get("id", index)
        for snapshot, record in enumerate(as_list(as_object(entry).get("FC_res")), 1):
            yield SnapshotKey(type_name, conversation=str(conversation), snapshot=snapshot), record


def _dump_with_layout_of(value: Any, old_value: Any, old_content: bytes) -> bytes | None:
    """Return a JSON value with the indentation and escapes of a file, or None if the layout of
    the file is unknown.
    """
    text = old_content.decode("utf-8", "replace")
    for indent, escaped, end in product((4, 2, 1, None, 0, 3, 8), (False, True), ("", "\n")):
        if json.dumps(old_value, indent=indent, ensure_ascii=escaped) + end == text:
            return (json.dumps(value, indent=indent, ensure_ascii=escaped) + end).encode()
    return None


JUDGE_CRITERIA = {JUDGE_CRITERION, "equivalent"}
SnapshotIndexes = tuple[int, int]
"""The index of a conversation in `MT_res.json`, and the index of a snapshot in the conversation."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield `badcase.csv` and the judge's files with the overrides, and the overrides that they
    cannot represent.
    """
    rewritten_files: list[RewrittenFile] = []
    name_ok_by_id: dict[str, bool] = {}
    has_overrides = any(item.overrides for item in items)
    for path in plan.results:
        if path.name != "MT_res.json" or not has_overrides:
            continue
        results = read_json(path, [], list) or []
        items_by_position = map_items_to_indexes(path, results, items)
        companions = load_companion_verdicts(path.parent, results, [])
        scores = enumerate(companions.scores)
        flags = [
            _apply_overrides_to_flags(index, recorded, items_by_position)
            for index, recorded in scores
        ]
        for (conversation, _), item in items_by_position.items():
            if conversation < len(flags):
                name_ok_by_id[item.id] = flags[conversation].name_ok
        rewritten_files += _rewrite_verdict_files(path.parent, items_by_position, companions, flags)
    yield from writeback.find_unrepresentable_reviews(
        items, lambda item, key: _is_representable(item, key, name_ok_by_id.get(item.id))
    )
    right_items = [
        item
        for item in items
        if item.id in name_ok_by_id and writeback.get_item_override(item) is True
    ]
    judged_items = [item for item in right_items if JUDGE_CRITERION in item.values]
    if n_refused := sum(not item.metadata.get(SAME_NAMES_KEY) for item in judged_items):
        text = (
            "pass verdicts by the judge on answers whose function or argument names are not the"
            " golden ones"
        )
        yield Unrepresentable(text, n_refused)
    if n_rejected := sum(item.values.get("rejected") is True for item in right_items):
        text = (
            "pass verdicts on answers that contain 'sorry', which the script counts as rejections"
        )
        yield Unrepresentable(text, n_rejected)
    yield from rewritten_files


def find_summary_files(plan: RunPlan) -> list[Path]:
    folders = dict.fromkeys(path.parent for path in plan.results if path.name == "MT_res.json")
    return [path for folder in folders for path in sorted(folder.glob("evaluate_stdout_*.txt"))]


def _is_representable(
    item: ScoredItem, criterion_key: CriterionKey, is_first_name_ok: bool | None
) -> bool:
    """Return whether the files can represent an override.

    `is_first_name_ok` is the verdict on the first snapshot's function name in the rewritten file,
    or None without a file. If it is false, no snapshot passes, because the files contain no other
    verdict on function names. The evaluator ignores the judge if the argument names are not the
    golden ones.
    """
    target, criterion = criterion_key
    if target != ITEM:
        return False
    if criterion in JUDGE_CRITERIA:
        same_names = item.metadata.get(SAME_NAMES_KEY)
        return same_names is not None and (
            item.overrides[criterion_key] is False or bool(same_names)
        )
    if is_first_name_ok is None:
        return False
    if criterion == "func_ok":
        return split_item_id(item.id)[2] == 1
    may_pass = is_first_name_ok or item.overrides[criterion_key] is False
    return criterion == "args_ok" or (criterion == CORRECT and may_pass)


def map_items_to_indexes(
    result_file: Path, results: Sequence[Any], items: Sequence[ScoredItem]
) -> dict[SnapshotIndexes, ScoredItem]:
    """Return the item of each snapshot in an `MT_res.json` by the indexes of the snapshot."""
    dataset_records, type_name = (
        load_adjacent_dataset(result_file.parent, []),
        get_dataset_type(result_file.parent),
    )
    items_by_id: dict[str, list[ScoredItem]] = defaultdict(list)
    for item in items:
        if item.category == type_name:
            items_by_id[item.id].append(item)
    items_by_position: dict[SnapshotIndexes, ScoredItem] = {}
    for conversation, entry in enumerate(results):
        name = dataset_records.get(conversation, {}).get("id", conversation)
        for snapshot in range(count_snapshots(entry)):
            items_with_id = items_by_id.get(f"{type_name}_{name}_{snapshot + 1}")
            if items_with_id:
                items_by_position[conversation, snapshot] = items_with_id.pop(0)
    return items_by_position


def _rewrite_verdict_files(
    folder: Path,
    items: Mapping[SnapshotIndexes, ScoredItem],
    companions: CompanionVerdicts,
    flags: Sequence[ConversationFlags],
) -> Iterator[RewrittenFile]:
    """Yield the changed files with verdicts in a folder, and set the judge's overridden replies
    in `companions`.
    """
    if (
        flags
        and (content := replace_badcase_flags(read_file(folder / BADCASE_FILE), flags)) is not None
    ):
        yield RewrittenFile(folder / BADCASE_FILE, content)
    changed: set[SnapshotIndexes] = set()
    for (conversation, snapshot), item in items.items():
        reply = _find_overridden_judge_flag(item)
        if reply is None or _get_recorded_judge_flag(companions, conversation, snapshot) in (
            None,
            reply,
        ):
            continue
        changed.add((conversation, snapshot))
        if companions.flags:
            companions.flags[conversation][snapshot] = reply
        if companions.replies:
            companions.replies[conversation][snapshot] = f" {reply}"
    replies = [text for row in companions.replies for text in row]
    for path, value in (
        (folder / JUDGE_FLAGS_FILE, companions.flags),
        (folder / JUDGE_REPLIES_FILE, replies),
    ):
        if changed and value:
            yield RewrittenFile(path, writeback.dump_with_indentation_of(value, read_file(path)))


def _apply_overrides_to_flags(
    conversation_index: int,
    recorded: ConversationFlags,
    items_by_position: Mapping[SnapshotIndexes, ScoredItem],
) -> ConversationFlags:
    name_ok, flags = recorded.name_ok, list(recorded.arguments)
    first_item = items_by_position.get((conversation_index, 0))
    if first_item is not None and first_item.overrides:
        name_ok = get_snapshot_outcome(first_item).func_ok
    for snapshot in range(len(flags)):
        item = items_by_position.get((conversation_index, snapshot))
        if item is not None and item.overrides:
            flags[snapshot] = get_snapshot_outcome(item).args_ok
    return ConversationFlags(name_ok, flags)


def _find_overridden_judge_flag(item: ScoredItem) -> bool | None:
    """Return the judge's verdict on the arguments after the overrides.

    None if they do not determine it.
    """
    if not item.overrides or JUDGE_CRITERION not in item.values:
        return None
    args_ok = get_snapshot_outcome(item, JUDGE_CRITERION).args_ok
    if (ITEM, "equivalent") in item.overrides:
        return bool(item.overrides[ITEM, "equivalent"])
    return None if not args_ok and not item.metadata.get(SAME_NAMES_KEY) else args_ok


def _get_recorded_judge_flag(
    companions: CompanionVerdicts, conversation: int, snapshot: int
) -> bool | None:
    reply = get_snapshot_value(companions.flags or companions.replies, conversation, snapshot)
    return None if reply is None else bool(reply) if companions.flags else "True" in reply


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    if len(item.golden) != 1 or not writeback.has_only_decoded_calls(item.golden):
        return None
    return {
        "name": item.golden[0].name,
        "arguments": writeback.first_accepted_arguments(item.golden[0]),
    }


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """Recompute the verdict with a golden fix.

    In folders of conversations, the first snapshot's function name counts for all snapshots. A
    golden fix of a later snapshot does not change this. The prediction comes from the item, because
    `record` is None for JSON arrays.
    """
    last_message = item.messages[-1].content if item.messages else None
    raw = item.predicted[0].raw if item.predicted else last_message
    if raw is None:
        return None
    call = parse_prediction(raw, choose_parser_name(f"{run.path}/{item.file}"))
    outcome = check_snapshot(call, raw, golden_fix, run.language)
    is_independent = run.generation != "conversation" or item.id.endswith("_1")
    name_ok = outcome.func_ok if is_independent else _infer_first_func_ok(item)
    return None if name_ok is None else name_ok and outcome.args_ok


def _infer_first_func_ok(item: Item) -> bool | None:
    """Infer from the verdict on a later snapshot whether the first one has the golden function.

    None means unknown.
    """
    error = item.rule_error_type
    return (
        None
        if error in ("text", "refused")
        else error not in ("wrong_function", "wrong_first_function")
    )


def parse_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> list[Call]:  # noqa: ARG001
    return [label_to_golden_call(golden_fix, 0)]

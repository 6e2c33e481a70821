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
from collections import defaultdict, deque
from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any

from fcreview.importers.common import writeback
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.records import as_list, as_object, list_objects
from fcreview.importers.common.writeback import CriterionKey, GoldenFixes, JsonObject
from fcreview.importers.hammerbench.checker import (
    MAX_CSV_FIELD_LENGTH,
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
    RESULT_FILE,
    TYPE_FOLDER_NAME,
    SnapshotKey,
    get_dataset_type,
    split_item_id,
)
from fcreview.importers.hammerbench.leaderboard import JUDGE_CRITERION, get_snapshot_outcome
from fcreview.importers.hammerbench.read import (
    label_to_golden_call,
    load_adjacent_dataset,
    make_conversation_id,
    should_decline,
)
from fcreview.model.address import ITEM
from fcreview.model.derivation import SAME_NAMES_KEY
from fcreview.model.function_schema import get_parameters_schema
from fcreview.model.item import Call, Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import CORRECT
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

NAME_COLUMN = "Func Name"
ARGUMENTS_COLUMN = "Args"


def replace_badcase_flags(content: bytes, flags: Sequence[ConversationFlags]) -> bytes | None:
    """Write new verdicts into `badcase.csv`, and return its content. None if nothing changes.

    Each row is a conversation, with a verdict on the function name and a list of verdicts on the
    arguments. `flags` are these verdicts in the order of the rows.
    """
    csv.field_size_limit(MAX_CSV_FIELD_LENGTH)
    text = content.decode("utf-8", "replace")
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    name_index = header.index(NAME_COLUMN)
    arguments_index = header.index(ARGUMENTS_COLUMN)

    new_rows = [list(row) for row in rows]
    for row, row_flags in zip(new_rows, flags, strict=False):
        row[name_index] = str(row_flags.name_ok)
        row[arguments_index] = str(row_flags.arguments)
    if new_rows == rows:
        return None
    return _dump_csv([header, *new_rows], line_end=_find_line_end(content))


def _find_line_end(content: bytes) -> str:
    """Return the line end of a file, which its new content keeps."""
    first_line, _, _ = content.partition(b"\n")
    return "\r\n" if first_line.endswith(b"\r") else "\n"


def _dump_csv(rows: Sequence[Sequence[str]], *, line_end: str) -> bytes:
    output = io.StringIO(newline="")
    csv.writer(output, lineterminator=line_end).writerows(rows)
    return output.getvalue().encode("utf-8")


@dataclass(frozen=True, slots=True)
class _SnapshotFix:
    """A golden fix of a snapshot."""

    item: tuple[str, str]
    """Category and id of the item."""
    golden_call: JsonObject


FixesByKey = dict[SnapshotKey, _SnapshotFix]


@dataclass(frozen=True, slots=True)
class _GoldenChange:
    """A golden call that was replaced in a file."""

    key: SnapshotKey
    old: Any
    new: JsonObject


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    """Check the golden call that a reviewer wrote. Return the first error, or None.

    Its arguments must be plain values of declared parameters. It may omit any parameter.
    """
    # The dataset has an empty text in place of a golden call where the model should decline.
    golden_call: JsonObject | str = golden_fix if item.golden else ""
    if should_decline(item.category, golden_call):
        return "this item has no golden call, because the correct answer is to decline"
    if set(golden_fix) != {"name", "arguments"}:
        error = writeback.check_fix_fields(golden_fix, "name", "arguments")
        return error or "a golden call must have the fields name and arguments"

    arguments = golden_fix["arguments"]
    functions = [_remove_required_parameters(function_doc) for function_doc in item.functions]
    error = writeback.check_golden_call(golden_fix["name"], arguments, functions)
    if error:
        return error
    for name, value in arguments.items():
        if isinstance(value, (list, dict)) or value is None:
            return f"the value of {name} must be a string, a number, true or false"
    return None


def _remove_required_parameters(function_doc: JsonObject) -> JsonObject:
    """Return a function doc without required parameters.

    HammerBench also requires parameters for which the user has not yet stated a value.
    """
    schema = dict(get_parameters_schema(function_doc))
    schema.pop("required", None)
    return function_doc | {"parameters": schema}


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Write the reviewers' golden calls into the dataset files and the logs of a run.

    The logs repeat the golden calls of the dataset. Yields the files that change, the fixes that
    the dataset contains, and the number of those that it does not contain.
    """
    fixes_by_key: FixesByKey = {}
    for (category, item_id), golden_call in fixes.items():
        fixes_by_key[split_item_id(item_id)] = _SnapshotFix((category, item_id), golden_call)

    applied_keys: set[SnapshotKey] = set()
    for path in dict.fromkeys([*plan.data, *plan.results]):
        is_log = path in plan.results
        rewritten = _rewrite_golden_file(path, fixes_by_key, is_log=is_log)
        if rewritten is None:
            continue
        if rewritten.content is None:
            kind = f"golden answers in {path.name}, whose JSON layout is unknown"
            yield Unrepresentable(kind, len(rewritten.changes))
            continue

        yield RewrittenFile(path, rewritten.content)
        # Logs repeat fixes, so only the dataset files decide which fixes are applied.
        if not is_log:
            first_changes = _select_first_changes(rewritten.changes, applied_keys)
            for key, change in first_changes.items():
                item = fixes_by_key[key].item
                yield AppliedGoldenFix(item, path=path, old=change.old, new=change.new)
            applied_keys.update(first_changes)

    n_missing = len(fixes_by_key.keys() - applied_keys)
    if n_missing:
        yield Unrepresentable("golden answers that the dataset does not contain", n_missing)


def _select_first_changes(
    changes: Sequence[_GoldenChange], applied_keys: Set[SnapshotKey]
) -> dict[SnapshotKey, _GoldenChange]:
    """Return the first change of each snapshot that is not among those already applied."""
    first_changes: dict[SnapshotKey, _GoldenChange] = {}
    for change in changes:
        if change.key not in applied_keys:
            first_changes.setdefault(change.key, change)
    return first_changes


@dataclass(frozen=True, slots=True)
class _RewrittenGolden:
    content: bytes | None
    """Content of the file with the fixes, or None if its layout is unknown."""
    changes: list[_GoldenChange]


def _rewrite_golden_file(
    path: Path, fixes_by_key: FixesByKey, *, is_log: bool
) -> _RewrittenGolden | None:
    """Apply the reviewers' golden calls to a log or a dataset file.

    Returns None if the file is not JSON, or if nothing changes. The content of the result is None
    if the layout of the JSON is unknown, so that rewriting would change every line.
    """
    raw = read_file(path)
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError):
        return None
    # The two functions below change the value itself, so its text is compared before and after.
    old_text = json.dumps(value)
    if is_log:
        changes = list(_replace_log_labels(path, value, fixes_by_key))
    else:
        changes = list(_replace_dataset_calls(path, value, fixes_by_key))
    if json.dumps(value) == old_text:
        return None
    content = _dump_in_known_layout(value, json.loads(old_text), raw)
    return _RewrittenGolden(content, changes)


def _replace_dataset_calls(
    path: Path, records: Any, fixes_by_key: FixesByKey
) -> Iterator[_GoldenChange]:
    """Replace golden calls in the records of a dataset file, in place, and yield each change.

    `fixes_by_key` has the new call of each snapshot that a reviewer corrected.
    """
    for index, record in enumerate(as_list(records)):
        if not isinstance(record, dict) or not isinstance(record.get("messages"), list):
            continue
        type_name, conversation = _identify_conversation(path, str(record.get("id", index)))
        for snapshot_number, message in enumerate(_list_golden_messages(record), 1):
            key = SnapshotKey(type_name, conversation, snapshot_number)
            fix = fixes_by_key.get(key)
            old_call = message.get("content")
            if fix is not None and old_call != fix.golden_call:
                message["content"] = fix.golden_call
                yield _GoldenChange(key, old_call, fix.golden_call)


def _list_golden_messages(record: JsonObject) -> list[JsonObject]:
    """Return the messages with golden calls. The n-th is that of the n-th snapshot."""
    messages = list_objects(record["messages"])
    return [message for message in messages if message.get("role") == "function call"]


def _identify_conversation(path: Path, record_id: str) -> tuple[str, str]:
    """Return type and conversation of a dataset record.

    In `MT_0.json`, the name of the folder states the type, and the id is that of the conversation.
    """
    if path.name == "MT_0.json":
        folder_type = TYPE_FOLDER_NAME.fullmatch(path.parent.name)
        if folder_type is not None:
            return folder_type[1], record_id
    key = split_item_id(record_id)
    return key.type_name, key.conversation


def _replace_log_labels(
    path: Path, records: Any, fixes_by_key: FixesByKey
) -> Iterator[_GoldenChange]:
    """Replace the labels in the records of a log, in place. Yield each change."""
    for key, record in _iter_log_records(path, records):
        fix = fixes_by_key.get(key)
        if fix is None or not isinstance(record, dict):
            continue
        old = record.get("label")
        if old != fix.golden_call:
            record["label"] = fix.golden_call
            yield _GoldenChange(key, old, fix.golden_call)


def _iter_log_records(path: Path, records: Any) -> Iterator[tuple[SnapshotKey, Any]]:
    """Yield the snapshot and the record of each prediction in a log."""
    if path.name != RESULT_FILE:
        for record in list_objects(records):
            yield split_item_id(str(record.get("id"))), record
        return

    dataset_records = load_adjacent_dataset(path.parent).records
    type_name = get_dataset_type(path.parent)
    for index, entry in enumerate(as_list(records)):
        conversation = str(dataset_records.get(index, {}).get("id", index))
        for number, record in enumerate(as_list(as_object(entry).get("FC_res")), 1):
            yield SnapshotKey(type_name, conversation, number), record


def _dump_in_known_layout(value: Any, old_value: Any, old_content: bytes) -> bytes | None:
    """Return a JSON value with the layout of a file.

    Returns None if the layout is unknown, because other bytes of the file would change then.
    """
    if writeback.dump_with_layout_of(old_value, old_content) != old_content:
        return None
    return writeback.dump_with_layout_of(value, old_content)


JUDGE_CRITERIA = {JUDGE_CRITERION, "equivalent"}
SnapshotIndexes = tuple[int, int]
"""The index of a conversation in `MT_res.json`, and the index of a snapshot in the conversation."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed verdicts of a run into `badcase.csv` and the judge's files.

    Yields the files that change, and the reviews that these files cannot represent. Flat logs have
    no files with verdicts.
    """
    rewritten_files: list[RewrittenFile] = []
    # Item -> verdict on the function name of its conversation. Only items in `badcase.csv` have
    # one, so the ids also tell which items are written.
    name_ok_by_id: dict[str, bool] = {}
    if any(item.overrides for item in items):
        for path in plan.results:
            if path.name == RESULT_FILE:
                folder = _ReviewedFolder.load(path, items)
                name_ok_by_id |= folder.list_name_verdicts()
                rewritten_files += folder.rewrite_files()

    def is_representable(item: ScoredItem, key: CriterionKey) -> bool:
        return _is_representable(item, key, name_ok_by_id.get(item.id))

    yield from writeback.find_unrepresentable_reviews(items, is_representable)
    written_items = [item for item in items if item.id in name_ok_by_id]
    yield from _find_refused_passes(written_items)
    yield from rewritten_files


def _find_refused_passes(written_items: Sequence[ScoredItem]) -> Iterator[Unrepresentable]:
    """Yield the numbers of passes by reviewers that the written files contain, but that the
    official scripts do not count.

    The scripts ignore the judge's verdict if a function or argument name differs from the golden
    one. They also take every answer with the word "sorry" for a refusal.
    """
    passed = [item for item in written_items if writeback.get_item_override(item) is True]

    judged = [item for item in passed if JUDGE_CRITERION in item.values]
    n_other_names = sum(not item.metadata.get(SAME_NAMES_KEY) for item in judged)
    if n_other_names:
        kind = (
            "pass verdicts by the judge on answers whose function or argument names are not the"
            " golden ones"
        )
        yield Unrepresentable(kind, n_other_names)

    n_rejected = sum(item.values.get("rejected") is True for item in passed)
    if n_rejected:
        kind = (
            "pass verdicts on answers that contain 'sorry', which the script counts as rejections"
        )
        yield Unrepresentable(kind, n_rejected)


def find_summary_files(plan: RunPlan) -> list[Path]:
    folders = dict.fromkeys(path.parent for path in plan.results if path.name == RESULT_FILE)
    summaries: list[Path] = []
    for folder in folders:
        summaries += sorted(folder.glob("evaluate_stdout_*.txt"))
    return summaries


def _is_representable(
    item: ScoredItem, criterion_key: CriterionKey, is_first_name_ok: bool | None
) -> bool:
    """Whether the files of a run can contain a reviewed verdict.

    Args:
        item: The item of a snapshot.
        criterion_key: The target and the criterion of the verdict.
        is_first_name_ok: The verdict on the function name in the rewritten `badcase.csv`, or None
            without this file.
    """
    target, criterion = criterion_key
    if target != ITEM:
        return False
    fails = item.overrides[criterion_key] is False
    if criterion in JUDGE_CRITERIA:
        return _is_representable_for_judge(item, fails=fails)
    if is_first_name_ok is None:
        return False
    return _is_representable_in_badcase(
        item, criterion, fails=fails, is_first_name_ok=is_first_name_ok
    )


def _is_representable_for_judge(item: ScoredItem, *, fails: bool) -> bool:
    """Whether the judge's files, which have a verdict on each snapshot, can contain a verdict."""
    # None means that no judge's file has the snapshot.
    has_golden_names = item.metadata.get(SAME_NAMES_KEY)
    if has_golden_names is None:
        return False
    # The evaluator ignores the judge if the argument names are not the golden ones.
    return fails or bool(has_golden_names)


def _is_representable_in_badcase(
    item: ScoredItem, criterion: str, *, fails: bool, is_first_name_ok: bool
) -> bool:
    """Whether `badcase.csv` can contain a verdict.

    It has a verdict on the arguments of each snapshot. It has one on the function name for the
    whole conversation, that of the first snapshot.
    """
    if criterion == "func_ok":
        return split_item_id(item.id).snapshot == 1
    if criterion == "args_ok":
        return True
    if criterion == CORRECT:
        # If the name is wrong, no snapshot of the conversation can pass.
        return fails or is_first_name_ok
    return False


def map_items_to_indexes(
    result_file: Path, results: Sequence[Any], items: Sequence[ScoredItem]
) -> dict[SnapshotIndexes, ScoredItem]:
    """Find the item of each snapshot, a step of a conversation, in a result file.

    Returns a dictionary from the indexes of conversation and snapshot to the item. If several
    conversations have the same id, their items are in the order of the file.
    """
    dataset_records = load_adjacent_dataset(result_file.parent).records
    type_name = get_dataset_type(result_file.parent)
    remaining_items: dict[str, deque[ScoredItem]] = defaultdict(deque)
    for item in items:
        if item.category == type_name:
            remaining_items[item.id].append(item)

    item_by_indexes: dict[SnapshotIndexes, ScoredItem] = {}
    for conversation_index, result in enumerate(results):
        dataset_record = dataset_records.get(conversation_index, {})
        group = make_conversation_id(type_name, dataset_record, conversation_index)
        for snapshot_index in range(count_snapshots(result)):
            items_of_id = remaining_items[f"{group}_{snapshot_index + 1}"]
            if items_of_id:
                first_item = items_of_id.popleft()
                item_by_indexes[conversation_index, snapshot_index] = first_item
    return item_by_indexes


@dataclass(frozen=True, slots=True)
class _ReviewedFolder:
    """A folder of conversations with its recorded verdicts and the reviews of its items."""

    path: Path
    items_by_indexes: Mapping[SnapshotIndexes, ScoredItem]
    companions: CompanionVerdicts
    flags: list[ConversationFlags]
    """The evaluator's verdicts on each conversation, with the overrides."""

    @classmethod
    def load(cls, result_file: Path, items: Sequence[ScoredItem]) -> _ReviewedFolder:
        """Load the verdicts in the files beside a result file, and apply the reviews to them."""
        results = read_json(result_file, [], list) or []
        items_by_indexes = map_items_to_indexes(result_file, results, items)
        companions = load_companion_verdicts(result_file.parent, results)
        flags = []
        for index, recorded in enumerate(companions.scores):
            flags.append(_apply_overrides_to_flags(index, recorded, items_by_indexes))
        return cls(result_file.parent, items_by_indexes, companions=companions, flags=flags)

    def list_name_verdicts(self) -> dict[str, bool]:
        """Return item id -> verdict on the function name of the first snapshot."""
        name_ok_by_id = {}
        for (conversation, _), item in self.items_by_indexes.items():
            if conversation < len(self.flags):
                name_ok_by_id[item.id] = self.flags[conversation].name_ok
        return name_ok_by_id

    def rewrite_files(self) -> Iterator[RewrittenFile]:
        """Yield the files with verdicts that the overrides change."""
        badcase_file = self.path / BADCASE_FILE
        if self.flags:
            content = replace_badcase_flags(read_file(badcase_file), self.flags)
            if content is not None:
                yield RewrittenFile(badcase_file, content)
        yield from self._rewrite_judge_files()

    def _rewrite_judge_files(self) -> Iterator[RewrittenFile]:
        """Yield the judge's files with the reviewed verdicts, if they change.

        One file has a flag for each snapshot, `new_flags[conversation][snapshot]`. Another has the
        judge's replies as a flat list over all conversations. A folder can have either or both.
        """
        changed_flags = self._find_changed_judge_flags()
        if not changed_flags:
            return

        new_flags = [list(row) for row in self.companions.flags]
        new_replies = [list(row) for row in self.companions.replies]
        for (conversation, snapshot), flag in changed_flags.items():
            if new_flags:
                new_flags[conversation][snapshot] = flag
            if new_replies:
                # The recorded replies of the judge begin with a blank, too.
                new_replies[conversation][snapshot] = f" {flag}"

        if new_flags:
            yield _dump_json_file(self.path / JUDGE_FLAGS_FILE, new_flags)
        all_replies = list(chain.from_iterable(new_replies))
        if all_replies:
            yield _dump_json_file(self.path / JUDGE_REPLIES_FILE, all_replies)

    def _find_changed_judge_flags(self) -> dict[SnapshotIndexes, Any]:
        """Return the flag of each snapshot whose review contradicts the recorded flag."""
        changed_flags = {}
        for (conversation, snapshot), item in self.items_by_indexes.items():
            flag = _find_overridden_judge_flag(item)
            recorded = _get_recorded_judge_flag(self.companions, conversation, snapshot)
            if flag is not None and recorded is not None and flag != recorded:
                changed_flags[conversation, snapshot] = flag
        return changed_flags


def _dump_json_file(path: Path, value: Any) -> RewrittenFile:
    return RewrittenFile(path, writeback.dump_with_layout_of(value, read_file(path)))


def _apply_overrides_to_flags(
    conversation_index: int,
    recorded: ConversationFlags,
    items_by_indexes: Mapping[SnapshotIndexes, ScoredItem],
) -> ConversationFlags:
    """Return the evaluator's verdicts on a conversation with the reviews of its snapshots.

    The verdict on the function name is that of the first snapshot. `recorded` are the verdicts in
    the file.
    """
    name_ok = recorded.name_ok
    first_item = items_by_indexes.get((conversation_index, 0))
    if first_item is not None and first_item.overrides:
        name_ok = get_snapshot_outcome(first_item).func_ok

    arguments_ok = list(recorded.arguments)
    for snapshot in range(len(arguments_ok)):
        item = items_by_indexes.get((conversation_index, snapshot))
        if item is not None and item.overrides:
            arguments_ok[snapshot] = get_snapshot_outcome(item).args_ok
    return ConversationFlags(name_ok, arguments_ok)


def _find_overridden_judge_flag(item: ScoredItem) -> bool | None:
    """Return the judge's verdict on the arguments after the overrides.

    None if they do not determine it.
    """
    if not item.overrides or JUDGE_CRITERION not in item.values:
        return None
    if (ITEM, "equivalent") in item.overrides:
        return bool(item.overrides[ITEM, "equivalent"])
    args_ok = get_snapshot_outcome(item, JUDGE_CRITERION).args_ok
    has_golden_names = item.metadata.get(SAME_NAMES_KEY)
    if not args_ok and not has_golden_names:
        # With other names, the effective verdict is false whatever the judge says. So it does not
        # tell what the judge should have said.
        return None
    return args_ok


def _get_recorded_judge_flag(
    companions: CompanionVerdicts, conversation: int, snapshot: int
) -> bool | None:
    """Return the judge's recorded verdict on a snapshot, from either of its files, or None."""
    if companions.flags:
        flag = get_snapshot_value(companions.flags, conversation, snapshot)
        return None if flag is None else bool(flag)
    reply = get_snapshot_value(companions.replies, conversation, snapshot)
    return None if reply is None else "True" in reply


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """Return the golden call in the form in which a reviewer edits it, or None if there is not
    exactly one.
    """
    if len(item.golden) != 1 or not writeback.has_only_decoded_calls(item.golden):
        return None
    golden = item.golden[0]
    return {"name": golden.name, "arguments": writeback.first_accepted_arguments(golden)}


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """Recompute the verdict on a snapshot with a golden call that a reviewer wrote. None if that is
    not possible.

    The prediction comes from the item, because `record` is None for JSON arrays.
    """
    prediction = _get_prediction(item)
    if prediction is None:
        return None
    call = parse_prediction(prediction, choose_parser_name(f"{run.path}/{item.file}"))
    outcome = check_snapshot(call, prediction, golden_fix, run.language)

    is_later_snapshot = run.generation == "conversation" and not item.id.endswith("_1")
    if not is_later_snapshot:
        return outcome.func_ok and outcome.args_ok
    # In folders of conversations, the function name of the first snapshot decides for all. A golden
    # call of a later snapshot does not change that.
    is_first_name_ok = _infer_first_func_ok(item)
    if is_first_name_ok is None:
        return None
    return is_first_name_ok and outcome.args_ok


def _get_prediction(item: Item) -> str | None:
    """Return the prediction of an item, which is the text of its call, or its last message."""
    if item.predicted:
        return item.predicted[0].raw
    return item.messages[-1].content if item.messages else None


def _infer_first_func_ok(item: Item) -> bool | None:
    """Infer from the verdict on a later snapshot whether the first one has the golden function.

    None means unknown.
    """
    if item.rule_error_type in ("text", "refused"):
        return None
    return item.rule_error_type not in ("wrong_function", "wrong_first_function")


def parse_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> list[Call]:  # noqa: ARG001
    return [label_to_golden_call(golden_fix, 0)]

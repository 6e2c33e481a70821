"""Read HammerBench items, one for each snapshot, from flat logs or folders of conversations.

fcreview reads a dialogue from the dataset or, without the dataset, from the field `input` of a flat
log.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from fcreview.importers.common.incidents import apply_incident, find_empty_reply
from fcreview.importers.common.json_file import read_json
from fcreview.importers.common.not_run import compare_with_dataset
from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    last_question,
    list_objects,
    read_function_docs,
)
from fcreview.importers.hammerbench.checker import (
    CompanionVerdicts,
    SnapshotCheck,
    check_snapshot,
    choose_parser_name,
    load_companion_verdicts,
    parse_prediction,
)
from fcreview.importers.hammerbench.discovery import (
    DATASET_FILE_NAME,
    get_dataset_type,
    split_item_id,
)
from fcreview.importers.hammerbench.leaderboard import CHANGE_KEY
from fcreview.matching.align import align_calls
from fcreview.matching.diff import ComparisonRules
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.function_schema import read_declared_parameters
from fcreview.model.item import (
    GOLDEN_CALL,
    AcceptedValues,
    Call,
    ImportIssue,
    Item,
    Message,
    ReadRecord,
    Verdict,
)
from fcreview.model.json_value import answer_hash, to_plain_json
from fcreview.model.verdict import DECLINE_KEY, FIRST_FUNCTION_KEY
from fcreview.run_plan import RunPlan

_ROLE_PREFIX = re.compile(r"^(user|assistant):", re.MULTILINE)
_QUOTE_MARK = re.compile(r"<EK>:?|(?:^|\n)EK:|^EK:")
MAX_SNAPSHOTS = 100
"""Largest snapshot number of an id. Published conversations have at most 11 snapshots."""
QUOTED_MESSAGE_NAME = "quoted"
"""`Message.name` of text that a user attached, which HammerBench calls a quoted message."""


def read_dialogue_before_call(
    message_records: list[dict[str, Any]], call_number: int
) -> list[Message]:
    """Read the messages of a dataset record that come before a golden call.

    `call_number` is the number of this call, from 1. Earlier golden calls become messages of the
    assistant, because later turns build on them.
    """
    messages: list[Message] = []
    turn, calls = -1, 0
    for record in message_records:
        role, content = record.get("role"), record.get("content")
        if role == "user":
            turn += 1
            messages += parse_user_message(str(content), turn)
        elif role == "function call":
            calls += 1
            if calls == call_number:
                break
            text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
            messages.append(
                Message(max(turn, 0), 0, role="assistant", content=text, name=GOLDEN_CALL)
            )
        elif turn + 1 > call_number:
            break
        else:
            messages.append(Message(max(turn, 0), 1, role="assistant", content=str(content)))
    return messages


class DialogueAndReply(NamedTuple):
    messages: list[Message]
    golden_reply: str | None
    """Final text of the assistant, or None without one."""


def split_golden_reply(messages: list[Message]) -> DialogueAndReply:
    """Separate the final text of the assistant from a dialogue.

    If the model should decline, this text is golden.
    """
    if not messages or messages[-1].role != "assistant" or messages[-1].name is not None:
        return DialogueAndReply(messages, None)
    return DialogueAndReply(messages[:-1], messages[-1].content)


def parse_flat_log_dialogue(log_input: str) -> list[Message]:
    """Parse the `input` of a flat log: messages that begin with `user:` or `assistant:`, or one
    user message.
    """
    _, *parts = _ROLE_PREFIX.split(log_input)
    if not parts:
        return parse_user_message(log_input, 0)
    messages: list[Message] = []
    turn = -1
    for role, content in zip(parts[::2], parts[1::2], strict=True):
        content = content.rstrip("\n")
        if role == "user":
            turn += 1
            messages += parse_user_message(content, turn)
        else:
            messages.append(Message(max(turn, 0), 1, role="assistant", content=content))
    return messages


def parse_user_message(content: str, turn: int) -> list[Message]:
    """Parse a user message.

    Text after `<EK>:` or `EK:`, which the user attached, becomes a separate message.
    """
    mark = _QUOTE_MARK.search(content)
    if not mark:
        return [Message(turn, -1, role="user", content=content)]
    own_text, quoted_text = content[: mark.start()].strip(), content[mark.end() :].strip()
    if not own_text and "\nquery:" in quoted_text:
        quoted_text, _, own_text = quoted_text.partition("\nquery:")
    messages = (
        [Message(turn, -1, role="user", content=own_text.strip())] if own_text.strip() else []
    )
    return [
        *messages,
        Message(turn, -1, role="user", content=quoted_text.strip(), name=QUOTED_MESSAGE_NAME),
    ]


DIFF_RULES = ComparisonRules(
    normalise=lambda text: " ".join(text.strip(".?!。！ ").lower().split())
)
"""Rules for the differences that the screens show. The verdicts use `compute_rouge_l` instead."""


@dataclass(slots=True)
class SnapshotData:
    """The recorded data of a snapshot, from which its item is filled."""

    prediction: Any
    label: Any
    """Golden call as an object, or the expected refusal as text."""
    messages: list[Message]
    tools: list[dict[str, Any]]
    language: str = "en"
    parser: str = "default"
    earlier: dict[str, Any] = field(default_factory=dict)
    """Golden arguments of the earlier snapshots of the conversation, by name.

    A later snapshot may override them.
    """


def fill_snapshot_item(
    item: Item, data: SnapshotData, *, first_func_ok: bool | None = None
) -> None:
    """Fill the item of a snapshot.

    In folders of conversations, `func_ok` of the first snapshot counts for all snapshots of the
    conversation. It is passed as `first_func_ok`, which is None if each snapshot counts on its own.
    """
    declines = should_decline(item.category, data.label)
    if declines:
        data.messages, golden_reply = split_golden_reply(data.messages)
        item.extra.golden_reply = data.label if isinstance(data.label, str) else golden_reply
    item.messages, item.functions = data.messages, data.tools
    turn = max((message.turn for message in data.messages), default=0)
    item.n_turns = turn + 1
    item.question = last_question(data.messages)
    raw = data.prediction
    if not isinstance(raw, str):
        raw = orjson.dumps(to_plain_json(raw)).decode()
    call = parse_prediction(data.prediction, data.parser)
    if call is None:
        item.messages = [*data.messages, Message(turn, 2, role="assistant", content=raw)]
    else:
        item.predicted = [
            Call(
                "predicted",
                str(call.get("name")),
                arguments=as_object(call.get("arguments")),
                turn=turn,
                raw=raw,
            )
        ]
    if isinstance(data.label, dict) and not declines:
        item.golden = [label_to_golden_call(data.label, turn)]
    item.pairs = align_calls(item.golden, item.predicted, DIFF_RULES)
    if not isinstance(data.label, (dict, str)):
        item.rule_note = "the log has no golden answer for this item"
        add_issue(item, f"{item.id} has no label, so it has no golden answer")
        return
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    outcome = check_snapshot(call, data.prediction, data.label, data.language)
    _add_verdicts(item, outcome, declines, first_func_ok)
    if first_func_ok is not None:
        item.extra.metadata[FIRST_FUNCTION_KEY] = first_func_ok
    _add_slot_metadata(item, data, call)
    # HammerBench has no mark for a failed request: whatever cannot be parsed stays as text.
    apply_incident(item, find_empty_reply(data.prediction, "predict"))


def should_decline(category: str, label: Any) -> bool:
    """Return whether the correct answer is to decline, because no available function is suitable.

    This is so in all items of the `ir_` types, and in the last snapshots of type IS.
    """
    return category.startswith("ir_") or isinstance(label, str)


def label_to_golden_call(label: dict[str, Any], turn: int) -> Call:
    arguments = {
        k: AcceptedValues([value], value == "")
        for k, value in as_object(label.get("arguments")).items()
    }
    return Call("golden", str(label.get("name")), arguments=arguments, turn=turn, step=0, index=0)


def _add_verdicts(
    item: Item, outcome: SnapshotCheck, expects_decline: bool, first_func_ok: bool | None
) -> None:
    is_name_ok = outcome.func_ok if first_func_ok is None else first_func_ok
    item.rule = outcome.rejected if expects_decline else is_name_ok and outcome.args_ok
    item.rule_error_type = (
        None if item.rule else _find_error_type(outcome, expects_decline, is_name_ok)
    )
    rationale = None
    if outcome.lowest_similarity is not None:
        similarity = f"{outcome.lowest_similarity:.3f} ({outcome.lowest_argument})"
        rationale = f"lowest ROUGE-L of an argument: {similarity}; required: 0.7"
    add = item.verdicts.append
    add(
        Verdict(
            "rule",
            item.rule,
            error_type=item.rule_error_type,
            rationale=rationale,
            by="HammerBench rules",
        )
    )
    for criterion in ("func_ok", "args_ok", "hallucinated", "missing", "rejected", "is_text"):
        reason = rationale if criterion == "args_ok" else None
        add(Verdict("rule", getattr(outcome, criterion), criterion=criterion, rationale=reason))
    if item.rule is False:
        item.diff_argument = item.diff_argument or outcome.lowest_argument


def _find_error_type(outcome: SnapshotCheck, expects_decline: bool, is_name_ok: bool) -> str:
    if expects_decline:
        return "not_declined"
    if outcome.is_text:
        return "refused" if outcome.rejected else "text"
    if not is_name_ok:
        return "wrong_first_function" if outcome.func_ok else "wrong_function"
    if outcome.hallucinated:
        return "hallucinated_parameter"
    return "missing_parameter" if outcome.missing else "wrong_value"


def _add_slot_metadata(
    item: Item, data: SnapshotData, predicted_call: dict[str, Any] | None
) -> None:
    label, raw = (
        as_object(data.label),
        data.prediction if isinstance(data.prediction, dict) else predicted_call or {},
    )
    golden = as_object(label.get("arguments"))
    predicted = as_object(raw.get("arguments")) | dict.fromkeys(
        (predicted_call or {}).get("blank", ()), ""
    )
    golden_function = next(
        (each for each in data.tools if each.get("name") == label.get("name")), {}
    )
    properties = read_declared_parameters(golden_function).properties or {}
    names = dict.fromkeys([*properties, *golden, *predicted])
    states = {
        each: (_describe_slot_state(golden, each), _describe_slot_state(predicted, each))
        for each in names
    }
    unfilled = {each: pair for each, pair in states.items() if pair != ("filled", "filled")}
    item.extra.metadata["slots"] = (
        f"{len(states) - len(unfilled)} of {len(states)} are filled in both calls"
    )
    for name, (golden_state, predicted_state) in unfilled.items():
        item.extra.metadata[f"slot {name}"] = f"golden {golden_state}, predicted {predicted_state}"
    earlier = data.earlier
    earlier_values = {
        name: earlier[name] for name, value in golden.items() if earlier.get(name, value) != value
    }
    if earlier_values:
        item.extra.metadata["overridden slots, value before"] = earlier_values
    if should_decline(item.category, data.label):
        item.extra.metadata[DECLINE_KEY] = "decline: no available function is suitable"
    if earlier_values:
        item.extra.metadata[CHANGE_KEY] = "the user overrides a slot"
    elif any(
        each.name == QUOTED_MESSAGE_NAME and each.turn == item.n_turns - 1 for each in data.messages
    ):
        item.extra.metadata[CHANGE_KEY] = "the user refers to an attached message"


def _describe_slot_state(arguments: dict[str, Any], name: str) -> str:
    return (
        "absent"
        if name not in arguments
        else "empty"
        if arguments[name] in ("", None)
        else "filled"
    )


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    folders = [path for path in plan.results if path.name == "MT_res.json"]
    for path in plan.results:
        if path not in folders:
            yield from _read_flat_log(path, plan)
    yield from _read_conversation_folders(folders, plan)


def _read_flat_log(log_file: Path, plan: RunPlan) -> Iterator[ReadRecord]:
    issues: list[ImportIssue] = []
    log = read_json(log_file, issues, list) or []
    dataset = _load_dataset(plan.data, issues)
    yield from issues
    golden_by_conversation, seen_ids = (
        defaultdict[tuple[str, str], dict[str, Any]](dict),
        set[str](),
    )
    for position, record in enumerate(log, 1):
        if not isinstance(record, dict) or "predict" not in record:
            text = f"element {position} of the array is not a log record and was skipped"
            yield ImportIssue(str(log_file), None, what=text, raw=repr(record)[:300])
            continue
        recorded_id = name = str(record.get("id", f"unnamed_0_{position}"))
        if recorded_id in seen_ids:
            name = f"{recorded_id}#{position}"
            text = (
                f"{recorded_id} occurs more than once in the log. This record is imported as"
                f" {name}."
            )
            yield ImportIssue(str(log_file), None, what=text, item=name)
        seen_ids.add(recorded_id)
        type_name, conversation, number = split_item_id(recorded_id)
        item = Item(
            name,
            category=type_name or "unknown",
            group=f"{type_name}_{conversation}" if type_name else None,
        )
        earlier_golden = golden_by_conversation[type_name, conversation]
        source = _make_snapshot_data(item, record, log_file, position, plan, earlier_golden)
        yield fill_safely(
            item, partial(_fill_flat_item, item, source, record, dataset.get(recorded_id), number)
        )
        earlier_golden.update(as_object(as_object(source.label).get("arguments")))
    yield from compare_with_dataset(seen_ids, _list_snapshot_ids(dataset), _get_id_type)


def _list_snapshot_ids(record_ids: Iterable[str]) -> Iterator[str]:
    """Yield the ids of all snapshots. A dataset has a record for each conversation, with the id of
    its last snapshot: `mQmA_0_3` stands for `mQmA_0_1`, `mQmA_0_2` and `mQmA_0_3`.
    """
    for record_id in record_ids:
        key = split_item_id(record_id)
        if not key.type_name or key.snapshot > MAX_SNAPSHOTS:
            yield record_id
            continue
        for number in range(1, key.snapshot + 1):
            yield f"{key.type_name}_{key.conversation}_{number}"


def _get_id_type(item_id: str) -> str:
    return split_item_id(item_id).type_name or "unknown"


def _make_snapshot_data(
    item: Item,
    record: dict[str, Any],
    log_file: Path,
    position: int,
    plan: RunPlan,
    earlier_golden: dict[str, Any],
) -> SnapshotData:
    """Return the data of a snapshot without its dialogue and tools.

    Set the item's position and answer hashes.
    """
    item.file, item.line = str(log_file), position
    predicted, label, parser = (
        record.get("predict"),
        record.get("label"),
        choose_parser_name(str(log_file)),
    )
    item.prediction_hash, item.golden_hash = answer_hash(predicted), answer_hash(label)
    return SnapshotData(
        predicted,
        label=label,
        messages=[],
        tools=[],
        language=plan.run.language,
        parser=parser,
        earlier=dict(earlier_golden),
    )


def _fill_flat_item(
    item: Item,
    data: SnapshotData,
    record: dict[str, Any],
    dataset_record: dict[str, Any] | None,
    snapshot_number: int,
) -> None:
    if dataset_record:
        is_single_turn = item.category.startswith(("ST_", "ir_"))
        data.messages = read_dialogue_before_call(
            dataset_record["messages"], 1 if is_single_turn else snapshot_number
        )
        data.tools = read_function_docs(
            dataset_record.get("multiple_tools") or dataset_record.get("single_tool")
        )
    else:
        data.messages = parse_flat_log_dialogue(str(record.get("input", "")))
    fill_snapshot_item(item, data)


@dataclass(slots=True)
class ConversationInputs:
    """The data that the snapshots of a conversation in a folder share.

    It is updated while the snapshots are read.
    """

    index: int
    """Index of the conversation in `MT_res.json` and in the files next to it."""
    record: dict[str, Any]
    """Record of the conversation in `MT_0.json`, or empty if there is none."""
    companions: CompanionVerdicts
    first_func_ok: bool | None = None
    """`func_ok` of the first snapshot, or None before it is read."""
    golden: dict[str, Any] = field(default_factory=dict)
    """Golden arguments of the snapshots that are already read, by name."""


def _read_conversation_folders(paths: Sequence[Path], plan: RunPlan) -> Iterator[ReadRecord]:
    """Read the folders of all types, and then report the snapshots of the dataset without a
    result.
    """
    item_ids: list[str] = []
    expected_ids: list[str] = []
    for path in paths:
        issues: list[ImportIssue] = []
        dataset_records = load_adjacent_dataset(path.parent, issues)
        yield from issues
        for record in _read_conversation_folder(path, dataset_records, plan):
            if isinstance(record, Item):
                item_ids.append(record.id)
            yield record
        expected_ids += _list_expected_snapshots(get_dataset_type(path.parent), dataset_records)
    yield from compare_with_dataset(item_ids, expected_ids, _get_id_type)


def _list_expected_snapshots(
    type_name: str, dataset_records: dict[int, dict[str, Any]]
) -> Iterator[str]:
    """Yield the id of each snapshot in `MT_0.json`.

    A conversation has a snapshot for each message of the user.
    """
    for index, record in dataset_records.items():
        group = make_conversation_id(type_name, record, index)
        messages = list_objects(record.get("messages"))
        n_snapshots = sum(message.get("role") == "user" for message in messages)
        for number in range(1, n_snapshots + 1):
            yield f"{group}_{number}"


def make_conversation_id(type_name: str, dataset_record: dict[str, Any], index: int) -> str:
    """Return the id of a conversation. In older files, records have no id, so the index counts."""
    return f"{type_name}_{dataset_record.get('id', index)}"


def _read_conversation_folder(
    path: Path, dataset_records: dict[int, dict[str, Any]], plan: RunPlan
) -> Iterator[Item | ImportIssue]:
    issues: list[ImportIssue] = []
    results = read_json(path, issues, list) or []
    companions = load_companion_verdicts(path.parent, results, issues)
    yield from issues
    type_name = get_dataset_type(path.parent)
    for index, entry in enumerate(results):
        snapshots = as_object(entry).get("FC_res")
        if not isinstance(snapshots, list):
            text = f"conversation {index} has no list FC_res and was skipped"
            yield ImportIssue(str(path), None, what=text, raw=repr(entry)[:300])
            continue
        dataset_record = dataset_records.get(index, {})
        group = make_conversation_id(type_name, dataset_record, index)
        conversation = ConversationInputs(index, record=dataset_record, companions=companions)
        for snapshot, record in enumerate(snapshots):
            if not isinstance(record, dict):
                text = (
                    f"snapshot {snapshot + 1} of conversation {index} is not an object and was"
                    " skipped"
                )
                yield ImportIssue(str(path), None, what=text, raw=repr(record)[:300])
                continue
            item = Item(id=f"{group}_{snapshot + 1}", category=type_name, group=group)
            snapshot_source = _make_snapshot_data(
                item, record, path, index + 1, plan, conversation.golden
            )
            fill = partial(
                _fill_conversation_item, item, snapshot_source, record, conversation, snapshot
            )
            yield fill_safely(item, fill)
            if conversation.first_func_ok is None:
                func_ok = [
                    v.value
                    for v in item.verdicts
                    if v.criterion == "func_ok" and v.source == "rule"
                ]
                conversation.first_func_ok = any(func_ok)
            conversation.golden.update(as_object(as_object(snapshot_source.label).get("arguments")))


def _fill_conversation_item(
    item: Item,
    data: SnapshotData,
    record: dict[str, Any],
    conversation: ConversationInputs,
    snapshot_index: int,
) -> None:
    dataset_record = conversation.record
    messages = read_dialogue_before_call(
        as_list(dataset_record.get("messages")), snapshot_index + 1
    )
    data.messages = messages or parse_flat_log_dialogue(str(record.get("input", "")))
    data.tools = read_function_docs(
        dataset_record.get("single_tool" if snapshot_index else "multiple_tools")
    )
    fill_snapshot_item(item, data, first_func_ok=conversation.first_func_ok)
    conversation.companions.add_verdicts(item, conversation.index, snapshot_index)


def load_adjacent_dataset(folder: Path, issues: list[ImportIssue]) -> dict[int, dict[str, Any]]:
    """Load the dataset records in `MT_0.json`, next to `MT_res.json`, by index.

    A missing file has no records.
    """
    path = folder / "MT_0.json"
    records = (read_json(path, issues, list) or []) if path.is_file() else []
    return {index: as_object(record) for index, record in enumerate(records)}


def _load_dataset(files: list[Path], issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    dataset: dict[str, dict[str, Any]] = {}
    for path in files:
        for record in (
            read_json(path, issues, list) or [] if DATASET_FILE_NAME.fullmatch(path.name) else ()
        ):
            name, messages = as_object(record).get("id"), as_object(record).get("messages")
            if (
                isinstance(name, str)
                and isinstance(messages, list)
                and dataset.setdefault(name, record) != record
            ):
                text = (
                    f"{name} occurs more than once, with different content. The first record is"
                    " used"
                )
                issues.append(ImportIssue(str(path), None, what=text, item=name))
    return dataset

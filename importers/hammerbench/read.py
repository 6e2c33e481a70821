"""Read HammerBench items, one for each snapshot, from flat logs or folders of conversations.

fcreview reads a dialogue from the dataset or, without the dataset, from the field `input` of a flat
log.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import orjson

from fcreview.importers.common.file_cache import FileCache
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
    MIN_SIMILARITY,
    CompanionVerdicts,
    ParsedCall,
    SnapshotCheck,
    add_judge_verdicts,
    check_snapshot,
    choose_parser_name,
    has_golden_function_and_argument_names,
    load_companion_verdicts,
    parse_prediction,
)
from fcreview.importers.hammerbench.discovery import (
    CONVERSATION_FILE,
    DATASET_FILE_NAME,
    RESULT_FILE,
    SnapshotKey,
    get_dataset_type,
    split_item_id,
)
from fcreview.importers.hammerbench.leaderboard import CHANGE_KEY
from fcreview.matching.align import align_calls
from fcreview.matching.diff import ComparisonRules
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.derivation import (
    DECLINE_KEY,
    FIRST_FUNCTION_KEY,
    SAME_NAMES_KEY,
)
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
from fcreview.run_plan import RunPlan

_ROLE_PREFIX = re.compile(r"^(user|assistant):", re.MULTILINE)
_QUOTE_MARK = re.compile(r"<EK>:?|(?:^|\n)EK:|^EK:")
STEP_OF_REPLY = 2
"""Step of the reply in its turn. The dialogue before it has the steps -1 to 1."""
MAX_SNAPSHOTS = 100
"""Largest snapshot number of an id. Published conversations have at most 11 snapshots."""
QUOTED_MESSAGE_NAME = "quoted"
"""`Message.name` of text that a user attached, which HammerBench calls a quoted message."""


def read_dialogue_before_call(
    message_records: list[dict[str, Any]], call_number: int
) -> list[Message]:
    """Read the messages of a dataset record that come before a golden call: the dialogue of a
    snapshot.

    Earlier golden calls become messages of the assistant, because later turns build on them.
    `call_number` is the number of the call, from 1.
    """
    messages: list[Message] = []
    n_user_messages = 0
    for record in _cut_before_call(message_records, call_number):
        role = record.get("role")
        content = record.get("content")
        if role == "user":
            messages += parse_user_message(str(content), turn=n_user_messages)
            n_user_messages += 1
            continue

        # A message before the first one of the user belongs to the first turn.
        turn = max(n_user_messages - 1, 0)
        if role == "function call":
            messages.append(_make_golden_call_message(content, turn))
        else:
            messages.append(Message(turn=turn, step=1, role="assistant", content=str(content)))
    return messages


def _cut_before_call(
    message_records: list[dict[str, Any]], call_number: int
) -> list[dict[str, Any]]:
    """Return the records before a golden call.

    Normally, each message of the user has one golden call. In a turn without a call, the records
    end before the assistant's reply.
    """
    n_user_messages = 0
    n_calls = 0
    for index, record in enumerate(message_records):
        role = record.get("role")
        if role == "user":
            n_user_messages += 1
            continue

        if role == "function call":
            n_calls += 1
            is_end = n_calls == call_number
        else:
            # The turn of the golden call is over, although it has no call.
            is_end = n_user_messages > call_number
        if is_end:
            return message_records[:index]
    return message_records


def _make_golden_call_message(content: Any, turn: int) -> Message:
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return Message(turn=turn, step=0, role="assistant", content=text, name=GOLDEN_CALL)


class DialogueAndReply(NamedTuple):
    messages: list[Message]
    golden_reply: str | None
    """Final text of the assistant, or None without one."""


def split_golden_reply(messages: list[Message]) -> DialogueAndReply:
    """Separate the final text of the assistant from a dialogue.

    If the model should decline, this text is golden.
    """
    if not messages:
        return DialogueAndReply(messages, None)
    *dialogue, last = messages
    is_assistant_text = last.role == "assistant" and last.name is None
    if not is_assistant_text:
        return DialogueAndReply(messages, None)
    return DialogueAndReply(dialogue, last.content)


def parse_flat_log_dialogue(log_input: str) -> list[Message]:
    """Split the dialogue in a record of a flat log into messages, each of which begins with
    `user:` or `assistant:`.

    Without these words, the whole text is one message of the user.
    """
    # The text before the first word is left out. Then, roles and contents alternate.
    _, *parts = _ROLE_PREFIX.split(log_input)
    if not parts:
        return parse_user_message(log_input, 0)

    roles = parts[::2]
    contents = parts[1::2]
    messages: list[Message] = []
    turn = -1
    for role, content in zip(roles, contents, strict=True):
        text = content.rstrip("\n")
        if role == "user":
            turn += 1
            messages += parse_user_message(text, turn)
        else:
            messages.append(Message(turn=max(turn, 0), step=1, role="assistant", content=text))
    return messages


def parse_user_message(content: str, turn: int) -> list[Message]:
    """Split a user message into the text that the user wrote and the text that the user attached.

    The attached text follows `<EK>:` or `EK:`, and becomes a separate message.
    """
    mark = _QUOTE_MARK.search(content)
    if not mark:
        return [Message(turn=turn, step=-1, role="user", content=content)]

    own_text = content[: mark.start()].strip()
    attached_text = content[mark.end() :].strip()
    if not own_text:
        attached_text, own_text = _split_query(attached_text)

    attached = Message(
        turn=turn, step=-1, role="user", content=attached_text, name=QUOTED_MESSAGE_NAME
    )
    if not own_text:
        return [attached]
    return [Message(turn=turn, step=-1, role="user", content=own_text), attached]


def _split_query(text: str) -> tuple[str, str]:
    """Split a single-turn query, `EK:...\\nquery:...`, into the attached text and the query."""
    attached_text, _, query = text.partition("\nquery:")
    return attached_text.strip(), query.strip()


def _normalise_text(text: str) -> str:
    stripped = text.strip(".?!。！ ")
    return " ".join(stripped.lower().split())


DIFF_RULES = ComparisonRules(normalise=_normalise_text)
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
    """Fill the item of a snapshot, one step of a conversation: dialogue, calls and verdicts.

    Args:
        item: The item.
        data: What the files say about the snapshot.
        first_func_ok: Whether the function name of the first snapshot was right, which decides for
            all snapshots of a conversation. None if each snapshot counts on its own.
    """
    if should_decline(item.category, data.label):
        # The dataset's dialogue can end with the reply that the model should give.
        data.messages, golden_reply = split_golden_reply(data.messages)
        item.extra.golden_reply = data.label if isinstance(data.label, str) else golden_reply
    _set_dialogue(item, data)

    call = parse_prediction(data.prediction, data.parser)
    _set_calls(item, data, call)
    if isinstance(data.label, (dict, str)):
        _grade_snapshot(item, data, call, first_func_ok)
    else:
        item.rule_note = "the log has no golden answer for this item"
        add_issue(item, f"{item.id} has no label, so it has no golden answer")


def _set_dialogue(item: Item, data: SnapshotData) -> None:
    """Set the messages before the reply, and the functions that the model can call."""
    last_turn = max((message.turn for message in data.messages), default=0)
    item.messages = data.messages
    item.functions = data.tools
    item.n_turns = last_turn + 1
    item.question = last_question(data.messages)


def _set_calls(item: Item, data: SnapshotData, call: ParsedCall | None) -> None:
    """Set the predicted and the golden call, which belong to the last turn, and pair them.

    `call` is the parsed prediction, or None if it contains no call.
    """
    last_turn = item.n_turns - 1
    _add_prediction(item, data.prediction, call, last_turn)
    # If the model should decline, the label is the call of a function that it was not offered.
    expects_decline = should_decline(item.category, data.label)
    if isinstance(data.label, dict) and not expects_decline:
        item.golden = [label_to_golden_call(data.label, last_turn)]
    item.pairs = align_calls(item.golden, item.predicted, DIFF_RULES)


def _grade_snapshot(
    item: Item, data: SnapshotData, call: ParsedCall | None, first_func_ok: bool | None
) -> None:
    """Compare the calls of a snapshot, and add the first difference, the verdicts and what is known
    about its slots, the arguments of the golden function.

    `call` is the parsed prediction, or None. `first_func_ok` says whether the first snapshot of the
    conversation called the right function, if that decides.
    """
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    expects_decline = should_decline(item.category, data.label)
    outcome = check_snapshot(call, data.prediction, data.label, data.language)
    _add_verdicts(item, outcome, expects_decline=expects_decline, first_func_ok=first_func_ok)
    if first_func_ok is not None:
        item.extra.metadata[FIRST_FUNCTION_KEY] = first_func_ok
    item.extra.metadata |= _make_slot_metadata(item, data, call)
    # HammerBench has no mark for a failed request: whatever cannot be parsed stays as text.
    apply_incident(item, find_empty_reply(data.prediction, "predict"))


def _add_prediction(item: Item, prediction: Any, call: ParsedCall | None, turn: int) -> None:
    """Add a prediction as a call, or as the last message if it contains none."""
    # The store keeps the reply as text.
    text = prediction
    if not isinstance(text, str):
        text = orjson.dumps(to_plain_json(prediction)).decode()

    if call is None:
        message = Message(turn=turn, step=STEP_OF_REPLY, role="assistant", content=text)
        item.messages = [*item.messages, message]
        return

    name = str(call.get("name"))
    arguments = as_object(call.get("arguments"))
    item.predicted = [Call("predicted", name, arguments=arguments, turn=turn, raw=text)]


def should_decline(category: str, label: Any) -> bool:
    """Return whether the correct answer is to decline, because no available function is suitable.

    This is so in all items of the `ir_` types, and in the last snapshots of type IS.
    """
    return category.startswith("ir_") or isinstance(label, str)


def label_to_golden_call(label: dict[str, Any], turn: int) -> Call:
    """Convert a label to a golden call. An empty golden argument may be left out."""
    accepted = {}
    for argument, value in as_object(label.get("arguments")).items():
        accepted[argument] = AcceptedValues([value], optional=value == "")
    name = str(label.get("name"))
    return Call("golden", name, arguments=accepted, turn=turn, step=0, index=0)


def _add_verdicts(
    item: Item, outcome: SnapshotCheck, *, expects_decline: bool, first_func_ok: bool | None
) -> None:
    """Add the recomputed verdicts: on the item, and on each criterion of HammerBench's rules.

    Args:
        item: The item.
        outcome: What the check of the snapshot found.
        expects_decline: Whether the model should decline. Then the item passes if it did.
            Otherwise, the function name and the arguments must be right.
        first_func_ok: Whether the function name of the first snapshot was right, which then counts
            for this snapshot too. None if the snapshot's own name counts.
    """
    is_name_ok = outcome.func_ok if first_func_ok is None else first_func_ok
    if expects_decline:
        item.rule = outcome.rejected
    else:
        item.rule = is_name_ok and outcome.args_ok
    if not item.rule:
        item.rule_error_type = _find_error_type(
            outcome, expects_decline=expects_decline, is_name_ok=is_name_ok
        )

    rationale = _describe_lowest_similarity(outcome)
    verdict = Verdict("rule", item.rule, error_type=item.rule_error_type, by="HammerBench rules")
    verdict.rationale = rationale
    item.verdicts.append(verdict)
    item.verdicts += _make_criterion_verdicts(outcome, rationale)

    # The comparison of the calls may have found no argument.
    if item.rule is False:
        item.diff_argument = item.diff_argument or outcome.lowest_argument


def _describe_lowest_similarity(outcome: SnapshotCheck) -> str | None:
    """Return the text about the argument that is least similar. None if none was compared."""
    if outcome.lowest_similarity is None:
        return None
    similarity = f"{outcome.lowest_similarity:.3f} ({outcome.lowest_argument})"
    return f"lowest ROUGE-L of an argument: {similarity}; required: {MIN_SIMILARITY}"


def _make_criterion_verdicts(outcome: SnapshotCheck, rationale: str | None) -> Iterator[Verdict]:
    """Yield the verdicts on the criteria of the rules. The rationale explains `args_ok`."""
    yield Verdict("rule", outcome.func_ok, criterion="func_ok")
    yield Verdict("rule", outcome.args_ok, criterion="args_ok", rationale=rationale)
    yield Verdict("rule", outcome.hallucinated, criterion="hallucinated")
    yield Verdict("rule", outcome.missing, criterion="missing")
    yield Verdict("rule", outcome.rejected, criterion="rejected")
    yield Verdict("rule", outcome.is_text, criterion="is_text")


def _find_error_type(outcome: SnapshotCheck, *, expects_decline: bool, is_name_ok: bool) -> str:
    """Return the most important error of a failing snapshot.

    `is_name_ok`: whether the function name that counts is correct. In conversations, that is the
    name in the first snapshot.
    """
    if expects_decline:
        return "not_declined"
    if outcome.is_text:
        return "refused" if outcome.rejected else "text"
    if not is_name_ok:
        return "wrong_first_function" if outcome.func_ok else "wrong_function"
    if outcome.hallucinated:
        return "hallucinated_parameter"
    if outcome.missing:
        return "missing_parameter"
    return "wrong_value"


def _make_slot_metadata(
    item: Item, data: SnapshotData, predicted_call: ParsedCall | None
) -> dict[str, Any]:
    """Describe the slots, the arguments of the golden function, as metadata: which ones both calls
    fill, and which ones the user changed since an earlier snapshot.

    Also notes whether the model should decline.
    """
    golden = as_object(as_object(data.label).get("arguments"))
    metadata = _describe_slots(data, golden, _list_predicted_arguments(data, predicted_call))

    values_before = _find_values_before_override(golden, data.earlier)
    if values_before:
        metadata["overridden slots, value before"] = values_before
    if should_decline(item.category, data.label):
        metadata[DECLINE_KEY] = "decline: no available function is suitable"

    # A snapshot has one kind of change. An override is the more specific one.
    if values_before:
        metadata[CHANGE_KEY] = "the user overrides a slot"
    elif _has_quoted_message(data.messages, turn=item.n_turns - 1):
        metadata[CHANGE_KEY] = "the user refers to an attached message"
    return metadata


def _find_values_before_override(
    golden: dict[str, Any], earlier_golden: dict[str, Any]
) -> dict[str, Any]:
    """Return the earlier values of the golden arguments that changed since an earlier snapshot."""
    values_before = {}
    for name, value in golden.items():
        if name in earlier_golden and earlier_golden[name] != value:
            values_before[name] = earlier_golden[name]
    return values_before


def _has_quoted_message(messages: Sequence[Message], turn: int) -> bool:
    return any(message.turn == turn and message.name == QUOTED_MESSAGE_NAME for message in messages)


def _list_predicted_arguments(
    data: SnapshotData, predicted_call: ParsedCall | None
) -> dict[str, Any]:
    """Return the predicted arguments, with those that the parser removed because they are empty."""
    call = predicted_call or {}
    logged_call = data.prediction if isinstance(data.prediction, dict) else call
    arguments = dict(as_object(logged_call.get("arguments")))
    for name in call.get("blank", ()):
        arguments[name] = ""
    return arguments


def _describe_slots(
    data: SnapshotData, golden: dict[str, Any], predicted: dict[str, Any]
) -> dict[str, Any]:
    """Describe how two calls fill the slots, the arguments of the golden function.

    Slots that both calls fill are counted. For each other slot, the result says what each call does
    with it. `golden` and `predicted` are the arguments of the two calls.
    """
    declared_names = _list_declared_slots(data)
    names = dict.fromkeys([*declared_names, *golden, *predicted])
    other_slots = {}
    for name in names:
        golden_state = _describe_slot_state(golden, name)
        predicted_state = _describe_slot_state(predicted, name)
        if golden_state != "filled" or predicted_state != "filled":
            other_slots[f"slot {name}"] = f"golden {golden_state}, predicted {predicted_state}"
    n_filled = len(names) - len(other_slots)
    return {"slots": f"{n_filled} of {len(names)} are filled in both calls", **other_slots}


def _list_declared_slots(data: SnapshotData) -> list[str]:
    """Return the parameters that the golden function declares."""
    golden_name = as_object(data.label).get("name")
    for tool in data.tools:
        if tool.get("name") == golden_name:
            return list(read_declared_parameters(tool).properties or {})
    return []


def _describe_slot_state(arguments: dict[str, Any], name: str) -> str:
    if name not in arguments:
        return "absent"
    if arguments[name] in ("", None):
        return "empty"
    return "filled"


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    result_files = [path for path in plan.results if path.name == RESULT_FILE]
    for path in plan.results:
        if path.name != RESULT_FILE:
            yield from _read_flat_log(path, plan)
    yield from _read_conversation_folders(result_files, plan)


def _read_flat_log(log_file: Path, plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items of a flat log, one for each record, and then the snapshots of the dataset
    that the log lacks.
    """
    issues: list[ImportIssue] = []
    log = read_json(log_file, issues, list) or []
    dataset = _load_dataset(plan.data)
    yield from issues
    yield from dataset.issues

    reader = _FlatLogReader(log_file, language=plan.run.language, dataset_records=dataset.records)
    for position, record in enumerate(log, 1):
        yield from reader.read_element(record, position)
    dataset_ids = _list_snapshot_ids(dataset.records)
    yield from compare_with_dataset(reader.seen_ids, dataset_ids, _get_id_type)


@dataclass(slots=True)
class _FlatLogReader:
    """Reads the records of a flat log in their order."""

    log_file: Path
    language: str
    dataset_records: dict[str, dict[str, Any]]
    seen_ids: set[str] = field(default_factory=set)
    """Ids of the records that were read."""
    golden_by_conversation: dict[SnapshotKey, dict[str, Any]] = field(default_factory=dict)
    """First snapshot of a conversation -> golden arguments that were read, by name."""

    def read_element(self, element: Any, position: int) -> Iterator[Item | ImportIssue]:
        """Yield the item of an element of the log, or an issue if it is no record.

        `position` is the number of the element, from 1.
        """
        if isinstance(element, dict) and "predict" in element:
            yield from self._read_record(element, position)
            return
        what = f"element {position} of the array is not a log record and was skipped"
        yield ImportIssue(str(self.log_file), what=what, raw=repr(element)[:300])

    def _read_record(self, record: dict[str, Any], position: int) -> Iterator[Item | ImportIssue]:
        """Yield the item of a record, and an issue if its id occurs again.

        The position of the record is added to a repeated id.
        """
        recorded_id = str(record.get("id", f"unnamed_0_{position}"))
        key = split_item_id(recorded_id)
        item = Item(recorded_id, category=key.type_name or "unknown")
        if key.type_name:
            item.group = f"{key.type_name}_{key.conversation}"
        if recorded_id in self.seen_ids:
            item.id = f"{recorded_id}#{position}"
            what = (
                f"{recorded_id} occurs more than once in the log. This record is imported as"
                f" {item.id}."
            )
            yield ImportIssue(str(self.log_file), what=what, item=item.id)
        self.seen_ids.add(recorded_id)
        yield self._fill_item(item, record, position, recorded_id)

    def _fill_item(
        self, item: Item, record: dict[str, Any], position: int, recorded_id: str
    ) -> Item:
        """Fill the item of a snapshot, and remember its golden arguments for later snapshots of the
        conversation, which may override them.
        """
        key = split_item_id(recorded_id)
        # The first snapshot stands for the conversation. All its snapshots share one dictionary of
        # golden arguments, to which each adds its own after it was filled.
        first_snapshot = key._replace(snapshot=1)
        earlier_golden = self.golden_by_conversation.setdefault(first_snapshot, {})

        _set_record_fields(item, record, file=self.log_file, line=position)
        data = _make_snapshot_data(
            record, log_file=self.log_file, language=self.language, earlier_golden=earlier_golden
        )
        fill = partial(
            _fill_flat_item,
            item,
            data,
            record,
            dataset_record=self.dataset_records.get(recorded_id),
            snapshot_number=key.snapshot,
        )
        filled_item = fill_safely(item, fill)
        earlier_golden.update(as_object(as_object(data.label).get("arguments")))
        return filled_item


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


def _set_record_fields(item: Item, record: dict[str, Any], *, file: Path, line: int) -> None:
    """Set where the record of an item is, and the hashes of its answer and its golden answer."""
    item.file = str(file)
    item.line = line
    item.prediction_hash = answer_hash(record.get("predict"))
    item.golden_hash = answer_hash(record.get("label"))


def _make_snapshot_data(
    record: dict[str, Any], *, log_file: Path, language: str, earlier_golden: dict[str, Any]
) -> SnapshotData:
    """Collect what a log says about a snapshot: prediction, label, and the form of its calls.

    The dialogue and the tools are added later. `earlier_golden` are the golden arguments of earlier
    snapshots, which the user may change.
    """
    return SnapshotData(
        record.get("predict"),
        label=record.get("label"),
        messages=[],
        tools=[],
        language=language,
        parser=choose_parser_name(str(log_file)),
        # A copy, because the caller adds the arguments of this snapshot afterwards.
        earlier=dict(earlier_golden),
    )


def _fill_flat_item(
    item: Item,
    data: SnapshotData,
    record: dict[str, Any],
    *,
    dataset_record: dict[str, Any] | None,
    snapshot_number: int,
) -> None:
    """Fill the item of a record, with dialogue and tools of the dataset if it has them."""
    if dataset_record:
        is_single_turn = item.category.startswith(("ST_", "ir_"))
        call_number = 1 if is_single_turn else snapshot_number
        data.messages = read_dialogue_before_call(dataset_record["messages"], call_number)
        # The oldest files of type IS have only `single_tool`.
        tools = dataset_record.get("multiple_tools") or dataset_record.get("single_tool")
        data.tools = read_function_docs(tools)
    else:
        data.messages = parse_flat_log_dialogue(str(record.get("input", "")))
    fill_snapshot_item(item, data)


@dataclass(frozen=True, slots=True)
class ConversationInputs:
    """The data that the snapshots of a conversation in a folder share."""

    index: int
    """Index of the conversation in `MT_res.json` and in the files next to it."""
    type_name: str
    record: dict[str, Any]
    """Record of the conversation in `MT_0.json`, or empty if there is none."""
    companions: CompanionVerdicts
    language: str


def _read_conversation_folders(paths: Sequence[Path], plan: RunPlan) -> Iterator[ReadRecord]:
    """Read the folders of all types, and then report the snapshots of the dataset without a
    result.
    """
    item_ids: list[str] = []
    expected_ids: list[str] = []
    for path in paths:
        dataset = load_adjacent_dataset(path.parent)
        yield from dataset.issues
        for record in _read_conversation_folder(path, dataset.records, plan):
            if isinstance(record, Item):
                item_ids.append(record.id)
            yield record
        expected_ids += _list_expected_snapshots(get_dataset_type(path.parent), dataset.records)
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
    """Yield the items of all conversations in a result file, which has one type of conversation.

    `dataset_records` are the records of the dataset by the number of the conversation.
    """
    issues: list[ImportIssue] = []
    results = read_json(path, issues, list) or []
    companions = load_companion_verdicts(path.parent, results)
    yield from issues
    yield from companions.issues

    type_name = get_dataset_type(path.parent)
    for index, entry in enumerate(results):
        snapshots = as_object(entry).get("FC_res")
        if not isinstance(snapshots, list):
            what = f"conversation {index} has no list FC_res and was skipped"
            yield ImportIssue(str(path), what=what, raw=repr(entry)[:300])
            continue
        conversation = ConversationInputs(
            index,
            type_name=type_name,
            record=dataset_records.get(index, {}),
            companions=companions,
            language=plan.run.language,
        )
        yield from _read_conversation(path, snapshots, conversation)


def _read_conversation(
    path: Path, snapshots: list[Any], conversation: ConversationInputs
) -> Iterator[Item | ImportIssue]:
    """Yield the items of one conversation, one for each snapshot: a step of the conversation."""
    reader = _ConversationReader(path, conversation)
    for index, record in enumerate(snapshots):
        if isinstance(record, dict):
            yield reader.read_snapshot(record, index)
        else:
            what = f"snapshot {index + 1} of conversation {conversation.index} is not an object"
            yield ImportIssue(str(path), what=f"{what} and was skipped", raw=repr(record)[:300])


@dataclass(slots=True)
class _ConversationReader:
    """Reads the snapshots of a conversation in their order, because each depends on the earlier
    ones.
    """

    path: Path
    conversation: ConversationInputs
    first_func_ok: bool | None = None
    """Whether the first snapshot has the right function name, which decides for all snapshots.

    None before it is read.
    """
    earlier_golden: dict[str, Any] = field(default_factory=dict)
    """Golden arguments that were read, by name. The user can change them later."""

    def read_snapshot(self, record: dict[str, Any], index: int) -> Item:
        """Return the item of a snapshot. `index` is its position in the conversation."""
        item = self._make_item(record, index)
        data = _make_snapshot_data(
            record,
            log_file=self.path,
            language=self.conversation.language,
            earlier_golden=self.earlier_golden,
        )
        fill = partial(
            _fill_conversation_item,
            item,
            data,
            record,
            conversation=self.conversation,
            snapshot_index=index,
            first_func_ok=self.first_func_ok,
        )
        # A record that cannot be read becomes an item with an issue.
        filled_item = fill_safely(item, fill)

        # The next snapshots need the results of this one.
        if self.first_func_ok is None:
            self.first_func_ok = _has_golden_function(item)
        self.earlier_golden.update(as_object(as_object(data.label).get("arguments")))
        return filled_item

    def _make_item(self, record: dict[str, Any], index: int) -> Item:
        conversation = self.conversation
        group = make_conversation_id(
            conversation.type_name, conversation.record, conversation.index
        )
        item = Item(f"{group}_{index + 1}", category=conversation.type_name, group=group)
        _set_record_fields(item, record, file=self.path, line=conversation.index + 1)
        return item


def _has_golden_function(item: Item) -> bool:
    """Return the recomputed verdict on the function name; false if the item has none."""
    for verdict in item.verdicts:
        if verdict.source == "rule" and verdict.criterion == "func_ok":
            return bool(verdict.value)
    return False


def _fill_conversation_item(
    item: Item,
    data: SnapshotData,
    record: dict[str, Any],
    *,
    conversation: ConversationInputs,
    snapshot_index: int,
    first_func_ok: bool | None,
) -> None:
    """Fill the item of a snapshot of a conversation, with the evaluator's and the judge's verdicts
    from the files beside the log.

    `first_func_ok`: whether the first snapshot called the right function. None for the first one.
    """
    messages = as_list(conversation.record.get("messages"))
    data.messages = read_dialogue_before_call(messages, snapshot_index + 1)
    if not data.messages:
        data.messages = parse_flat_log_dialogue(str(record.get("input", "")))
    # The official inference offers all tools in the first snapshot, and then only the golden one.
    tools_field = "multiple_tools" if snapshot_index == 0 else "single_tool"
    data.tools = read_function_docs(conversation.record.get(tools_field))
    fill_snapshot_item(item, data, first_func_ok=first_func_ok)

    companions = conversation.companions
    companions.add_official_verdicts(item, conversation.index, snapshot_index)
    judge_answer = companions.find_judge_answer(conversation.index, snapshot_index)
    if judge_answer is not None:
        has_golden_names = has_golden_function_and_argument_names(item)
        item.extra.metadata[SAME_NAMES_KEY] = has_golden_names
        add_judge_verdicts(item, judge_answer, has_golden_names=has_golden_names)


@dataclass(frozen=True, slots=True)
class AdjacentDataset:
    """The records in `MT_0.json`, next to `MT_res.json`."""

    records: dict[int, dict[str, Any]]
    """Index of a conversation -> its record."""
    issues: list[ImportIssue]


def load_adjacent_dataset(folder: Path) -> AdjacentDataset:
    """Load `MT_0.json` of a folder. A missing file has no records."""
    issues: list[ImportIssue] = []
    path = folder / CONVERSATION_FILE
    records: list[Any] = []
    if path.is_file():
        records = read_json(path, issues, list) or []
    record_by_index = {index: as_object(record) for index, record in enumerate(records)}
    return AdjacentDataset(record_by_index, issues)


@dataclass(slots=True)
class _Dataset:
    """Records of the dataset files, by item id."""

    records: dict[str, dict[str, Any]] = field(default_factory=dict)
    issues: list[ImportIssue] = field(default_factory=list)


def _load_dataset(files: list[Path]) -> _Dataset:
    """Load the records of the dataset files among `files` by id.

    If an id occurs in several records, the first one is used, and there is an issue if they differ.
    """
    dataset = _Dataset()
    for path in files:
        if not DATASET_FILE_NAME.fullmatch(path.name):
            continue
        file = _dataset_files.load(path)
        dataset.issues += file.issues
        for item_id, record in file.records:
            first_record = dataset.records.setdefault(item_id, record)
            if first_record != record:
                what = f"{item_id} occurs more than once, with different content."
                what += " The first record is used"
                dataset.issues.append(ImportIssue(str(path), what=what, item=item_id))
    return dataset


@dataclass(frozen=True, slots=True)
class _DatasetFile:
    """The records of a dataset file with their ids. All runs share them."""

    records: list[tuple[str, dict[str, Any]]]
    issues: list[ImportIssue]


def _read_dataset_file(path: Path) -> _DatasetFile:
    """Read the records of a dataset file. Those without an id or messages are left out."""
    issues: list[ImportIssue] = []
    records = []
    for record in read_json(path, issues, list) or []:
        item_id = as_object(record).get("id")
        messages = as_object(record).get("messages")
        if isinstance(item_id, str) and isinstance(messages, list):
            records.append((item_id, record))
    return _DatasetFile(records, issues)


_dataset_files = FileCache(_read_dataset_file)

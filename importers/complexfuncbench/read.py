"""Read ComplexFuncBench items, one for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from fcreview.importers.common.file_cache import FileCache
from fcreview.importers.common.incidents import add_failed_verdict, apply_incident
from fcreview.importers.common.jsonl import MAX_FILE_BYTES, JsonRecord, read_records
from fcreview.importers.common.not_run import compare_with_dataset
from fcreview.importers.common.records import (
    add_issue,
    as_list,
    as_object,
    fill_safely,
    first_question,
    list_objects,
    make_missing_records_issue,
    read_function_docs,
    set_position,
)
from fcreview.importers.complexfuncbench import checker
from fcreview.importers.complexfuncbench.checker import CallVerdict, GoldenPath
from fcreview.importers.complexfuncbench.incidents import (
    find_judge_failure,
    find_log_incident,
    find_record_incident,
)
from fcreview.importers.complexfuncbench.leaderboard import (
    count_compared_parameters,
    summarize_call,
)
from fcreview.importers.complexfuncbench.log import EvaluationLog, parse_log
from fcreview.matching.decisive_call import add_decisive_call
from fcreview.matching.diff import diff_call
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.address import RESPONSE, call_address
from fcreview.model.item import (
    Call,
    CallPair,
    DiffState,
    ImportIssue,
    Item,
    ReadRecord,
    SourceName,
    Verdict,
)
from fcreview.model.json_value import answer_hash
from fcreview.model.verdict import EQUIVALENT
from fcreview.run_plan import RunPlan
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]
NOT_RECOMPUTED_NOTE = "success depends on live API responses and an LLM judge"
JUDGE_NAME = "gpt-4o (as published)"
"""Name of the judge in the released code. The files of a run do not name the judge."""


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items of a run: one for each result record, and one for each log of the evaluator
    that has no record.

    At the end, yields issues about samples that only the run or only the dataset has.
    """
    dataset = read_dataset(plan.data)
    yield from dataset.issues

    logs = {file.stem: file for file in plan.logs}
    reader = _ResultReader(plan.results[0], dataset.samples, logs)
    for record in read_records(plan.results[0]):
        if isinstance(record, ImportIssue):
            yield record
        else:
            yield from reader.read_record(record)
    for sample_id, log_file in logs.items():
        if sample_id not in reader.sample_ids:
            yield _read_item_from_log(sample_id, log_file, dataset.samples)

    sample_ids = reader.sample_ids | logs.keys()
    n_unknown = len(sample_ids - dataset.samples.keys())
    if plan.data and n_unknown:
        yield make_missing_records_issue(plan.data[0], "sample", n_unknown, len(sample_ids))
    yield from compare_with_dataset(sample_ids, dataset.samples, get_domain)


def _is_result(value: Any) -> bool:
    record = as_object(value)
    return isinstance(record.get("id"), str) and isinstance(record.get("gen_convs"), list)


MAX_RAW_CHARS = 300
"""Part of an unreadable record that its issue shows."""


@dataclass(slots=True)
class _ResultReader:
    """Reads the records of a result file in their order.

    If a sample has several records, each becomes an item, with its line number in the id from the
    second on. The log belongs to the first one.
    """

    result_file: Path
    samples: dict[str, JsonObject]
    """Sample id -> its record in the dataset."""
    logs: dict[str, Path]
    """Sample id -> the evaluator's log."""
    sample_ids: set[str] = field(default_factory=set)
    """Sample ids of the records that were read."""

    def read_record(self, record: JsonRecord) -> Iterator[Item | ImportIssue]:
        """Yield the item of a result record, and an issue if it is unusable or repeats a sample."""
        file = str(self.result_file)
        if not _is_result(record.value):
            what = "the record has no id or no gen_convs and was skipped"
            raw = str(record.value)[:MAX_RAW_CHARS]
            yield ImportIssue(file, record.line, what=what, raw=raw)
            return

        sample_id = record.value["id"]
        item_id = sample_id
        log_file = self.logs.get(sample_id)
        if sample_id in self.sample_ids:
            log_file = None
            item_id = f"{sample_id}#{record.line}"
            what = f"{sample_id} occurs more than once. This record is imported as {item_id}."
            yield ImportIssue(file, record.line, what=what, item=sample_id)
        self.sample_ids.add(sample_id)

        sample = self.samples.get(sample_id)
        item = _make_item(item_id, record, file, sample)
        fill_safely(item, partial(_fill_item, item, record.value, sample=sample, log_file=log_file))
        _report_missing_sample(item, sample_id, self.samples)
        yield item


def _make_item(item_id: str, record: JsonRecord, file: str, sample: JsonObject | None) -> Item:
    """Create an item from its result record, without calls and verdicts yet."""
    item = Item(item_id, get_domain(record.value["id"]), file=file)
    set_position(item, record)
    item.prediction_hash = answer_hash(record.value["gen_convs"])
    item.rule_note = NOT_RECOMPUTED_NOTE
    if sample:
        item.golden_hash = answer_hash(sample.get("conversations"))
    return item


def get_domain(sample_id: str) -> str:
    """Return the domain of a sample: `Car-Rental` for `Car-Rental-12`."""
    return sample_id.rpartition("-")[0]


@dataclass(slots=True)
class Dataset:
    """Samples of the dataset files, by id."""

    samples: dict[str, JsonObject] = field(default_factory=dict)
    issues: list[ImportIssue] = field(default_factory=list)


def read_dataset(files: list[Path]) -> Dataset:
    """Read the samples of all dataset files by their id.

    If an id occurs more than once, the first sample counts. If the others differ from it, there is
    an issue. Records without an id are ignored.
    """
    dataset = Dataset()
    for file in files:
        for record in _dataset_files.load(file):
            if isinstance(record, ImportIssue):
                dataset.issues.append(record)
                continue
            sample_id = as_object(record.value).get("id")
            if not isinstance(sample_id, str):
                continue
            first_sample = dataset.samples.setdefault(sample_id, record.value)
            if first_sample != record.value:
                what = f"{sample_id} occurs more than once in the dataset, with different content."
                what += " The first one is used."
                issue = ImportIssue(str(file), record.line, what=what, item=sample_id)
                dataset.issues.append(issue)
    return dataset


def _read_dataset_file(path: Path) -> list[JsonRecord | ImportIssue]:
    return list(read_records(path))


_dataset_files = FileCache(_read_dataset_file)
"""Records of the dataset files, which all runs share."""


def _fill_item(
    item: Item,
    record: dict[str, Any],
    *,
    sample: dict[str, Any] | None,
    log_file: Path | None,
) -> None:
    """Fill an item from its result record.

    Args:
        item: The item.
        record: The result record, with the conversation and the outcome.
        sample: The record of the dataset, with the golden calls, if it is known.
        log_file: The evaluator's log, with verdicts on calls, if there is one.
    """
    log = _read_log(log_file, item)
    _add_official_verdict(item, record)
    _add_response_scores(item, record)

    golden_path = checker.parse_golden_path(sample)
    item.golden = golden_path.calls
    item.functions = read_function_docs((sample or {}).get("functions"))
    verdicts = _fill_calls_and_verdicts(
        item, record, golden_path=golden_path, function_docs=item.functions, log=log
    )
    item.n_steps = len({call.step for call in item.predicted})
    item.extra.metadata |= _make_metadata(record, golden_path, verdicts, log)
    item.extra.metadata |= _make_metric_inputs(verdicts)

    # Calls that the evaluator compared, but that the display does not pair.
    item.extra.compared_with = _list_compared_calls(item, verdicts) or None
    if sample:
        _explain_sample(item, golden_path, verdicts)
    apply_incident(item, find_record_incident(record))


def _explain_sample(
    item: Item, golden_path: GoldenPath, verdicts: Mapping[str, CallVerdict]
) -> None:
    """Add the first difference, the calls on which the sample depends, and the decisive call."""
    find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    # The verdicts on calls by which reviewers decide about the sample.
    item.extra.needs = list_addresses_by_required_call(golden_path, verdicts, bool(item.official))
    # The evaluator compares calls, not states, so a call without an effect can be decisive.
    add_decisive_call(item, only_effect_counts=False)


def _list_compared_calls(item: Item, verdicts: Mapping[str, CallVerdict]) -> dict[str, int]:
    """Return address of an unpaired predicted call -> index of the golden call with which the
    evaluator compared it.
    """
    compared = {}
    for position, pair in enumerate(item.pairs):
        verdict = verdicts.get(call_address(0, position))
        if pair.golden is None and verdict is not None and verdict.golden is not None:
            compared[call_address(0, position)] = verdict.golden.index
    return compared


def _fill_calls_and_verdicts(
    item: Item,
    record: JsonObject,
    *,
    golden_path: GoldenPath,
    function_docs: list[JsonObject],
    log: EvaluationLog | None,
) -> dict[str, CallVerdict]:
    """Add the conversation, the call pairs and the verdicts on calls to an item.

    Returns the verdicts by the address of the call, such as `turn:1/call:2`.

    Args:
        item: The item.
        record: A result record, or one made from a log, with the conversation.
        golden_path: The golden calls.
        function_docs: The documentation of the functions.
        log: The evaluator's log, if there is one.
    """
    path = checker.parse_predicted_path(record)
    item.messages = path.messages
    item.predicted = path.calls
    item.question = first_question(item.messages)
    call_verdicts = checker.derive_call_verdicts(path, golden_path, function_docs, log)
    item.pairs = pair_calls(call_verdicts, golden_path)

    verdict_by_address = checker.index_verdicts_by_address(item.pairs, call_verdicts)
    for address, call_verdict in verdict_by_address.items():
        item.verdicts.append(_make_call_verdict(address, call_verdict))
    return verdict_by_address


def _make_call_verdict(address: str, call_verdict: CallVerdict) -> Verdict:
    """Return the verdict on a call. Its source is the judge if the judge decided, else the
    evaluator.
    """
    source: SourceName = "official"
    by = f"{call_verdict.tier} tier"
    if call_verdict.is_golden_guessed:
        by += ", golden call guessed"
    if call_verdict.tier == "judge":
        source = "judge"
        by = JUDGE_NAME

    return Verdict(
        source,
        call_verdict.ok,
        target=address,
        criterion=EQUIVALENT,
        error_type=call_verdict.error_type,
        rationale=call_verdict.rationale,
        by=by,
    )


def _report_missing_sample(item: Item, sample_id: str, samples: dict[str, JsonObject]) -> None:
    """Add a note and an issue to an item that is not in the dataset.

    If there is no dataset, add only the note.
    """
    if sample_id in samples:
        return
    item.rule_note = "the dataset does not contain this sample"
    if samples:
        what = f"{sample_id} is not in the dataset, so its golden calls and functions are missing"
        add_issue(item, what)


def _read_item_from_log(sample_id: str, log_file: Path, samples: dict[str, JsonObject]) -> Item:
    """Read an item from its log.

    The evaluator writes no result record for a sample that ends without an answer.
    """
    item = Item(sample_id, category=get_domain(sample_id), file=str(log_file), line=1)
    item.rule_note = NOT_RECOMPUTED_NOTE
    item.extra.metadata["outcome"] = "no result record, because the run ended without an answer"
    what = "this log has no result record, so the sample has no official verdict"
    add_issue(item, what, str(log_file), severity="notice")

    fill = partial(_fill_item_from_log, item, sample=samples.get(sample_id), log_file=log_file)
    fill_safely(item, fill)
    _report_missing_sample(item, sample_id, samples)
    return item


def _fill_item_from_log(item: Item, *, sample: dict[str, Any] | None, log_file: Path) -> None:
    """Fill an item without a result record from the evaluator's log.

    The conversation in the log is put into the form of a result record.
    """
    log = _read_log(log_file, item)
    golden_path = checker.parse_golden_path(sample)
    item.golden = golden_path.calls
    if log is not None:
        dialogue = _make_dialogue(log)
        item.prediction_hash = answer_hash(dialogue)
        verdicts = _fill_calls_and_verdicts(
            item,
            {"gen_convs": dialogue},
            golden_path=golden_path,
            function_docs=read_function_docs((sample or {}).get("functions")),
            log=log,
        )
        item.extra.metadata |= _make_metric_inputs(verdicts)

    apply_incident(item, find_log_incident(log))


def _make_dialogue(log: EvaluationLog) -> list[JsonObject]:
    """Return the question, the model's calls and the replies to them, as result records have
    them.
    """
    dialogue: list[JsonObject] = [{"role": "user", "content": log.query}]
    for turn in log.turns:
        dialogue.append({"role": "assistant", "function_call": turn.predicted})
        dialogue.append({"role": "observation", "content": turn.parse_observations()})
    return dialogue


def _read_log(log_file: Path | None, item: Item) -> EvaluationLog | None:
    """Read the evaluator's log of a sample. Problems become issues of the item."""
    if log_file is None:
        return None
    try:
        log = parse_log(read_file(log_file, MAX_FILE_BYTES).decode("utf-8", "replace"))
    except OSError as error:
        add_issue(item, f"the log cannot be read: {error.strerror}", str(log_file))
        return None
    for problem in log.problems:
        add_issue(item, problem, str(log_file), severity="notice")
    return log


def pair_calls(verdicts: list[CallVerdict], golden_path: GoldenPath) -> list[CallPair]:
    """Pair predicted calls with golden calls for display, in the order of the golden calls.

    Several predicted calls can have been compared with one golden call. It is paired with the first
    of them or, if that one was wrong, with the first that the evaluator accepted. Predicted calls
    without a golden call come last.
    """
    pair_by_golden: dict[int, CallPair] = {}
    unpaired: list[CallPair] = []
    for verdict in verdicts:
        predicted = verdict.predicted
        golden = verdict.golden
        if golden is None:
            unpaired.append(_make_unpaired(predicted.index, predicted.name))
            continue

        earlier_pair = pair_by_golden.get(golden.index)
        if earlier_pair is None:
            pair_by_golden[golden.index] = _make_pair(golden, predicted)
        elif verdict.ok and earlier_pair.state == "!":
            # The earlier call was wrong.
            unpaired.append(_make_unpaired(earlier_pair.predicted, earlier_pair.name))
            pair_by_golden[golden.index] = _make_pair(golden, predicted)
        else:
            unpaired.append(_make_unpaired(predicted.index, predicted.name))

    pairs = []
    for call in sorted(golden_path.calls, key=lambda call: call.index):
        pairs.append(pair_by_golden.get(call.index) or _make_missing_pair(call))
    return pairs + sorted(unpaired, key=lambda pair: pair.predicted or 0)


def _make_missing_pair(golden: Call) -> CallPair:
    return CallPair(0, golden=golden.index, predicted=None, name=golden.name, state="-")


def _make_unpaired(predicted_index: int | None, name: str) -> CallPair:
    return CallPair(0, golden=None, predicted=predicted_index, name=name, state="+")


def _make_pair(golden: Call, predicted: Call) -> CallPair:
    """Return a pair of a golden and a predicted call, with their differences."""
    differences = diff_call(golden, predicted)
    state: DiffState = "!"
    if not differences:
        state = "="
    elif all(difference.state == "~" for difference in differences):
        state = "~"
    return CallPair(
        0,
        golden=golden.index,
        predicted=predicted.index,
        name=golden.name,
        state=state,
        diff=differences,
    )


def _make_metric_inputs(verdict_by_address: dict[str, CallVerdict]) -> dict[str, Any]:
    """Return the metadata from which the metrics are computed."""
    calls = {}
    for address, verdict in verdict_by_address.items():
        calls[address] = summarize_call(verdict)
    verdicts = list(verdict_by_address.values())
    return {"calls": calls, "parameters compared": count_compared_parameters(verdicts)}


def _add_official_verdict(item: Item, record: dict[str, Any]) -> None:
    """Add the official verdict of a sample.

    It is in the field `message` of the result record: the text `Success.`, an error, or a list of
    errors, of which the first one gives the error type.
    """
    message = record.get("message")
    errors = [message] if isinstance(message, dict) else as_list(message)
    item.official = message == "Success."
    if not item.official:
        first_error = as_object(errors[0]) if errors else {}
        error_type = first_error.get("error_type", "unknown")
        # In an exported override without an error type, the error type is null.
        item.error_type = None if error_type is None else str(error_type)
    verdict = Verdict("official", item.official, error_type=item.error_type, by="message")
    verdict.rationale = message if isinstance(message, str) else _describe_errors(errors)
    item.verdicts.append(verdict)


def _describe_errors(errors: list[Any]) -> str:
    """Return the type and the text of each error on a line."""
    lines = []
    for error in list_objects(errors):
        lines.append(f"{error.get('error_type')}: {error.get('content')}")
    return "\n".join(lines)


def _add_response_scores(item: Item, record: dict[str, Any]) -> None:
    evaluation = as_object(record.get("resp_eval"))
    _add_response_score(item, evaluation.get("complete"), "completeness")
    _add_response_score(item, evaluation.get("correct"), "correctness")


def _add_response_score(item: Item, entry: Any, criterion: str) -> None:
    """Add a judge's score of the model's final response, or the reason why there is none.

    `entry` is `{"score": 0 to 2, "reason": text}`. `criterion` says what the judge scored.
    """
    if not isinstance(entry, dict):
        return
    failure = find_judge_failure(entry.get("score"), entry.get("reason"))
    if failure is not None:
        add_failed_verdict(
            item, "judge", failure=failure, by=JUDGE_NAME, target=RESPONSE, criterion=criterion
        )
        return
    verdict = Verdict("judge", entry["score"], target=RESPONSE, criterion=criterion, by=JUDGE_NAME)
    reason = entry.get("reason") or ""
    verdict.rationale = str(reason).strip() or None
    item.verdicts.append(verdict)


def _make_metadata(
    record: dict[str, Any],
    golden_path: GoldenPath,
    verdict_by_address: dict[str, CallVerdict],
    log: EvaluationLog | None,
) -> dict[str, Any]:
    """Return the metadata of an item: the evaluator's counts, and facts about the calls that no
    verdict shows.

    Args:
        record: The result record.
        golden_path: The golden calls.
        verdict_by_address: Address of a predicted call -> the verdict on it.
        log: The evaluator's log, if there is one.
    """
    metadata: dict[str, Any] = {}
    counts = record.get("count_dict")
    if isinstance(counts, dict):
        metadata["counts"] = counts
        metadata["steps"] = _describe_steps(counts, golden_path)

    verdicts = list(verdict_by_address.values())
    missing_calls = checker.find_missing_golden_calls(golden_path, verdicts)
    if missing_calls:
        metadata["golden calls not covered"] = [call.name for call in missing_calls]
    n_format_errors = sum(verdict.tier == "format" for verdict in verdicts)
    if n_format_errors:
        metadata["format errors"] = n_format_errors

    if log is not None and log.attempts > 1:
        metadata["attempts in the log"] = log.attempts
    if log is not None and log.surplus_call:
        metadata["surplus call"] = log.surplus_call
    return metadata


def _describe_steps(counts: dict[str, Any], golden_path: GoldenPath) -> str:
    """Return the numbers of steps. Without golden steps in the dataset, those that the evaluator
    counted are shown.
    """
    n_model_steps = counts.get("real_turn_num")
    n_golden_steps = golden_path.steps or counts.get("total_turn_num")
    return f"{n_model_steps} model steps, {n_golden_steps} golden steps"


def list_addresses_by_required_call(
    golden_path: GoldenPath, verdicts: Mapping[str, CallVerdict], is_success: bool
) -> list[list[str]]:
    """List what a sample needs to succeed: for each required golden call, the addresses of the
    predicted calls that were compared with it. One of these calls must be right.

    Verdicts of reviewers on calls decide the sample by this list, the value of `Extra.needs`.

    Args:
        golden_path: The golden calls.
        verdicts: Address of a predicted call -> the verdict on it.
        is_success: Whether the sample officially succeeded.
    """
    required: list[list[str]] = []
    are_all_accepted = True
    for golden_call in golden_path.calls:
        verdict_by_address = {
            address: verdict
            for address, verdict in verdicts.items()
            if verdict.golden is golden_call
        }
        if any(verdict.ok for verdict in verdict_by_address.values()):
            required.append(list(verdict_by_address))
        # If the sample succeeded, the evaluator required none of the calls that were not accepted.
        elif not is_success and not checker.is_optional_call(golden_call):
            required.append(list(verdict_by_address))
            are_all_accepted = False

    # The sample failed although every required call was accepted. An empty list, which no call
    # fulfils, says that no verdict on a call makes it succeed.
    if not is_success and are_all_accepted:
        required.append([])
    return required

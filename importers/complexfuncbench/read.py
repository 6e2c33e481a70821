"""Read ComplexFuncBench items, one for each sample, and determine the effective verdicts on their calls.

The table shows the effect of an override on a call (criterion `equivalent`, or `correct` of the call):

| override | effect on call accuracy | effect on the sample (by `Extra.needs`) |
|---|---|---|
| accepted call is wrong | -1 accepted call | fails if its golden call has no other accepted call |
| rejected call is correct | +1 if no call was accepted for its golden call | passes if no golden call is missing |

A golden call is missing if it is required and has no accepted call.

If a call has verdicts on both criteria, `equivalent` counts for call accuracy. If annotators disagree, the automatic
verdict counts.

A verdict on the item changes the success rate and the error types. `completeness` and `correctness` of the response
change only their means.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import MAX_FILE_BYTES, JsonRecord, read_records
from fcreview.importers.common.records import fill_safely, first_question, missing_records_issue, read_function_docs
from fcreview.importers.complexfuncbench.calls import (
    CallVerdict,
    GoldenPath,
    count_compared_parameters,
    derive_call_verdicts,
    find_required_calls,
    read_golden_path,
    read_predicted_path,
    sample_domain,
    summarize_calls,
    uncovered_golden_calls,
    verdicts_by_address,
)
from fcreview.importers.complexfuncbench.log import EvaluationLog, parse_log
from fcreview.matching.decisive_call import add_decisive_call
from fcreview.matching.diff import diff_call
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.address import RESPONSE, call_address
from fcreview.model.item import CallPair, ImportIssue, Item, SourceName, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.model.metric import ScoredItem
from fcreview.model.verdict import EQUIVALENT
from fcreview.run_plan import RunPlan
from fcreview.safe_files import read_file


@dataclass(slots=True)
class ReviewedCall:
    """A predicted call with the evaluator's verdict and its override."""

    officially_accepted: bool | None
    """Whether the evaluator accepted the call; None if it did not judge the call."""
    golden: int | None
    """Number of the golden call that the call was compared with, from 1; None without a golden call."""
    error: str | None
    """The evaluator's error type, or None."""
    wrong_parameter_types: Mapping[str, str] = field(default_factory=dict)
    """Parameter that differs from the golden call -> the paper's parameter type."""
    override: bool | None = None
    """Reviewed verdict that contradicts the official one, or None."""

    @property
    def accepted(self) -> bool | None:
        """Effective verdict on the call; None if the call has no verdict."""
        return self.officially_accepted if self.override is None else self.override


def read_reviewed_calls(item: ScoredItem) -> list[ReviewedCall]:
    """Return the predicted calls that the importer stored in the metadata."""
    calls = item.metadata.get("calls")
    calls = calls if isinstance(calls, dict) else {}
    return [_make_reviewed_call(item, address, call) for address, call in calls.items()]


def _make_reviewed_call(item: ScoredItem, address: str, call: Mapping[str, Any]) -> ReviewedCall:
    override = item.overrides.get((address, EQUIVALENT), item.derive("complexfuncbench", address, EQUIVALENT))
    wrong = call.get("wrong") or {}
    return ReviewedCall(call["accepted"], call.get("golden"), call.get("error"), wrong, override)


@dataclass(slots=True)
class CallCounts:
    """Numerator and denominator of the call accuracy."""

    correct: int
    """Number of accepted predicted calls."""
    golden: int


def count_accepted_calls(item: ScoredItem, calls: list[ReviewedCall]) -> CallCounts:
    """Return the recorded counts, updated by the overrides on calls.

    The evaluator may count a repeated optional call twice, and the returned counts keep this. A call that an override
    accepts is counted only if its golden call has no other accepted call.
    """
    recorded_counts = item.metadata.get("counts")
    recorded_counts = recorded_counts if isinstance(recorded_counts, dict) else {}
    correct = read_count(recorded_counts, "correct_call_num")
    if not recorded_counts:
        correct = sum(call.officially_accepted is True for call in calls)
    corrected = CallCounts(correct, read_count(recorded_counts, "total_call_num") or item.n_golden)
    covered = {call.golden for call in calls if call.officially_accepted and call.accepted}
    for call in calls:
        if call.officially_accepted and not call.accepted:
            corrected.correct -= 1
        elif call.accepted and not call.officially_accepted and call.golden is not None and call.golden not in covered:
            corrected.correct += 1
            covered.add(call.golden)
    return corrected


def read_count(counts: Mapping[str, Any], name: str) -> int:
    """Return a field of `count_dict`, or 0 if it is missing or not an integer."""
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def get_sample_error(item: ScoredItem, calls: list[ReviewedCall]) -> str | None:
    """Return the error type of a failed sample, or None.

    The result is the recorded error type, or else the error type of the first call that an override rejects.
    """
    if item.valid is not False:
        return None
    rejected_errors = (
        call.error for call in calls if call.officially_accepted and call.accepted is False and call.error
    )
    return item.error_type or next(rejected_errors, None)


def list_wrong_parameter_types(calls: list[ReviewedCall]) -> Iterator[str]:
    """Yield the types of the parameters in which rejected calls differ from their golden calls."""
    for call in calls:
        if call.accepted is False:
            yield from call.wrong_parameter_types.values()


NOT_RECOMPUTED_NOTE = "success depends on live API responses and an LLM judge"
"""Reason, shown on every item, why there is no recomputed verdict."""
JUDGE_NAME = "gpt-4o (as published)"
"""Name of the judge in the released code. The files of a run do not state the judge."""


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    """Yield the items of a run: one for each result record, and one for each log without a record."""
    path = plan.results[0]
    issues: list[ImportIssue] = []
    samples = read_dataset(plan.data, issues)
    yield from issues
    logs = {file.stem: file for file in plan.logs}
    seen_ids: set[str] = set()
    for row in read_records(path):
        if isinstance(row, ImportIssue):
            yield row
            continue
        name = row.value.get("id") if isinstance(row.value, dict) else None
        if not isinstance(name, str) or not isinstance(row.value.get("gen_convs"), list):
            yield ImportIssue(str(path), row.line, "record has no id or no gen_convs", str(row.value)[:300])
            continue
        item_id = name
        if name in seen_ids:
            item_id = f"{name}#{row.line}"
            text = f"{name} occurs more than once. This record is imported as {item_id}."
            yield ImportIssue(str(path), row.line, text, item=name)
        item = _read_item(row, item_id, samples.get(name), logs.pop(name, None), path)
        yield _note_missing_sample(item, name, samples)
        seen_ids.add(name)
    for name, file in logs.items():
        if name not in seen_ids:
            seen_ids.add(name)
            yield _note_missing_sample(_read_item_without_record(name, file, samples.get(name)), name, samples)
    if plan.data and (n_missing := len(seen_ids - samples.keys())):
        yield missing_records_issue(plan.data[0], "sample", n_missing, len(seen_ids))


def read_dataset(files: list[Path], issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    """Read the samples of all dataset files by id. If an id occurs more than once, the first sample counts."""
    dataset: dict[str, dict[str, Any]] = {}
    for file in files:
        for row in read_records(file):
            if isinstance(row, ImportIssue):
                issues.append(row)
                continue
            name = row.value.get("id") if isinstance(row.value, dict) else None
            if isinstance(name, str) and dataset.setdefault(name, row.value) != row.value:
                text = f"{name} occurs more than once in the dataset, with different content. The first one is used."
                issues.append(ImportIssue(str(file), row.line, text, item=name))
    return dataset


def _read_item(row: JsonRecord, name: str, sample: dict[str, Any] | None, log_file: Path | None, path: Path) -> Item:
    record = row.value
    category = sample_domain(record["id"])
    item = Item(id=name, category=category, file=str(path), line=row.line, offset=row.offset, length=row.length)
    item.prediction_hash = answer_hash(record["gen_convs"])
    item.golden_hash = answer_hash((sample or {}).get("conversations")) if sample else ""
    item.rule_note = NOT_RECOMPUTED_NOTE
    return fill_safely(item, lambda: _fill_item(item, record, sample, _read_log(log_file, item)))


def _fill_item(item: Item, record: dict[str, Any], sample: dict[str, Any] | None, log: EvaluationLog | None) -> None:
    _add_official_verdict(item, record)
    _add_response_scores(item, record)
    golden_path, predicted_path = read_golden_path(sample), read_predicted_path(record)
    item.messages, item.golden = predicted_path.messages, golden_path.calls
    item.predicted = [call for step in predicted_path.steps for call in step]
    item.functions = read_function_docs((sample or {}).get("functions"))
    item.question = first_question(item.messages)
    item.n_steps = len(predicted_path.steps)
    verdicts = derive_call_verdicts(predicted_path, golden_path, item.functions, log)
    item.pairs = pair_calls(verdicts, golden_path)
    if sample:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    by_address = verdicts_by_address(item.pairs, verdicts)
    item.verdicts += _make_call_verdicts(by_address)
    item.extra.compared_with = _compared_golden_calls(item.pairs, by_address)
    item.extra.needs = find_required_calls(golden_path, by_address, bool(item.official)) if sample else None
    _add_metadata(item, record, golden_path, verdicts, log)
    _add_metric_inputs(item, by_address)
    if sample:
        add_decisive_call(item, only_effect=False)


def _note_missing_sample(item: Item, name: str, dataset: dict[str, dict[str, Any]]) -> Item:
    """Add a note and an issue to an item that is not in the dataset. A missing dataset is an issue of the run."""
    if name not in dataset:
        item.rule_note = "no golden answer to compare with"
        if dataset:
            text = f"{name} is not in the dataset, so its golden calls and functions are missing"
            item.issues.append(ImportIssue(item.file, item.line, text, item=item.id))
    return item


def _read_item_without_record(name: str, file: Path, sample: dict[str, Any] | None) -> Item:
    """Read a sample from its log. The evaluator stores no record if the run ends without an answer."""
    item = Item(id=name, category=sample_domain(name), file=str(file), line=1)
    item.rule_note = NOT_RECOMPUTED_NOTE
    item.extra.metadata["outcome"] = "no result record: the run ended without an answer"
    text = "log without a result record, so there is no official verdict"
    item.issues.append(ImportIssue(str(file), None, text, item=name, severity="notice"))
    return fill_safely(item, lambda: _fill_from_log(item, sample, _read_log(file, item)))


def _fill_from_log(item: Item, sample: dict[str, Any] | None, log: EvaluationLog | None) -> None:
    golden_path = read_golden_path(sample)
    item.golden = golden_path.calls
    if log is not None:
        dialogue: list[dict[str, Any]] = [{"role": "user", "content": log.query}]
        for turn in log.turns:
            dialogue.append({"role": "assistant", "function_call": turn.predicted})
            dialogue.append({"role": "observation", "content": turn.observations})
        predicted_path = read_predicted_path({"gen_convs": dialogue})
        item.prediction_hash = answer_hash(dialogue)
        item.messages = predicted_path.messages
        item.predicted = [call for step in predicted_path.steps for call in step]
        functions = read_function_docs((sample or {}).get("functions"))
        verdicts = derive_call_verdicts(predicted_path, golden_path, functions, log)
        item.pairs = pair_calls(verdicts, golden_path)
        by_address = verdicts_by_address(item.pairs, verdicts)
        item.verdicts = _make_call_verdicts(by_address)
        _add_metric_inputs(item, by_address)
    item.question = first_question(item.messages)


def _read_log(file: Path | None, item: Item) -> EvaluationLog | None:
    if file is None:
        return None
    try:
        log = parse_log(read_file(file, MAX_FILE_BYTES).decode("utf-8", "replace"))
    except OSError as error:
        item.issues.append(ImportIssue(str(file), None, f"cannot read log: {error.strerror}", item=item.id))
        return None
    item.issues += [ImportIssue(str(file), None, problem, item=item.id, severity="notice") for problem in log.problems]
    return log


def pair_calls(verdicts: list[CallVerdict], golden_path: GoldenPath) -> list[CallPair]:
    """Pair the predicted calls with the golden calls, in golden order.

    Repeated optional calls, and calls that the evaluator compared with no golden call, come last without a partner.
    """
    pairs: dict[int, CallPair] = {}
    unpaired: list[CallPair] = []
    for verdict in verdicts:
        call, golden = verdict.predicted, verdict.golden
        if golden is None or (golden.index in pairs and not (verdict.ok and pairs[golden.index].state == "!")):
            unpaired.append(CallPair(0, None, call.index, call.name, "+"))
            continue
        if golden.index in pairs:
            replaced = pairs[golden.index]
            unpaired.append(CallPair(0, None, replaced.predicted, replaced.name, "+"))
        diff = diff_call(golden, call)
        state = "=" if not diff else "~" if all(each.state == "~" for each in diff) else "!"
        pairs[golden.index] = CallPair(0, golden.index, call.index, golden.name, state, diff)  # type: ignore[arg-type]
    for call in golden_path.calls:
        pairs.setdefault(call.index, CallPair(0, call.index, None, call.name, "-"))
    ordered = [pairs[index] for index in sorted(pairs)]
    return ordered + sorted(unpaired, key=lambda pair: pair.predicted or 0)


def _compared_golden_calls(pairs: list[CallPair], verdicts: dict[str, CallVerdict]) -> dict[str, int] | None:
    """Return a mapping from the address of each rejected call without a pair to the index of its golden call.

    These golden calls are paired with other predicted calls. Returns None if there are no such rejected calls.
    """
    unpaired = {call_address(0, position) for position, pair in enumerate(pairs) if pair.golden is None}
    compared = {address: each.golden.index for address, each in verdicts.items() if each.golden and address in unpaired}
    return compared or None


def _make_call_verdicts(verdicts: dict[str, CallVerdict]) -> list[Verdict]:
    call_verdicts = []
    for address, verdict in verdicts.items():
        is_judged = verdict.tier == "judge"
        source: SourceName = "judge" if is_judged else "official"
        tier = f"{verdict.tier} tier" + (", golden call guessed" if verdict.is_partner_guessed else "")
        by = JUDGE_NAME if is_judged else tier
        call_verdicts.append(
            Verdict(source, verdict.ok, address, "equivalent", verdict.error_type, verdict.rationale, by)
        )
    return call_verdicts


def _add_metric_inputs(item: Item, verdicts: dict[str, CallVerdict]) -> None:
    item.extra.metadata["calls"] = summarize_calls(verdicts)
    item.extra.metadata["parameters compared"] = count_compared_parameters(list(verdicts.values()))


def _add_official_verdict(item: Item, record: dict[str, Any]) -> None:
    message = record.get("message")
    item.official = message == "Success." if isinstance(message, str) else False
    entries = message if isinstance(message, list) else [message] if isinstance(message, dict) else []
    if not item.official:
        first = entries[0] if entries and isinstance(entries[0], dict) else {}
        error_type = first.get("error_type", "unknown")
        # An exported override without an error type has null here.
        item.error_type = None if error_type is None else str(error_type)
    text = message
    if not isinstance(message, str):
        text = "\n".join(
            f"{each.get('error_type')}: {each.get('content')}" for each in entries if isinstance(each, dict)
        )
    item.verdicts.append(Verdict("official", item.official, error_type=item.error_type, rationale=text, by="message"))


def _add_response_scores(item: Item, record: dict[str, Any]) -> None:
    evaluation = record.get("resp_eval")
    for key, criterion in (("complete", "completeness"), ("correct", "correctness")):
        entry = evaluation.get(key) if isinstance(evaluation, dict) else None
        if not isinstance(entry, dict):
            continue
        score, reason = entry.get("score"), entry.get("reason")
        value = score if score in (0, 1, 2) else None
        text = f"{reason or ''}" + ("" if value is not None else f" (recorded score {score} is not a valid verdict)")
        item.verdicts.append(Verdict("judge", value, RESPONSE, criterion, None, text.strip() or None, JUDGE_NAME))


def _add_metadata(
    item: Item, record: dict[str, Any], golden_path: GoldenPath, verdicts: list[CallVerdict], log: EvaluationLog | None
) -> None:
    counts = record.get("count_dict")
    if isinstance(counts, dict):
        item.extra.metadata["counts"] = counts
        golden_steps = golden_path.steps or counts.get("total_turn_num")
        item.extra.metadata["steps"] = f"{counts.get('real_turn_num')} by the model, {golden_steps} on the golden path"
    missing_calls = uncovered_golden_calls(golden_path, verdicts)
    if missing_calls:
        item.extra.metadata["golden calls not covered"] = [call.name for call in missing_calls]
    n_format_errors = sum(verdict.tier == "format" for verdict in verdicts)
    if n_format_errors:
        item.extra.metadata["format errors"] = n_format_errors
    if log is not None and log.attempts > 1:
        item.extra.metadata["attempts in the log"] = log.attempts
    if log is not None and log.surplus_call:
        item.extra.metadata["surplus call"] = log.surplus_call

"""Write reviews and golden fixes to ComplexFuncBench's own files.

Overrides change the outcome, the counts and the response scores in result records. Overrides on
calls also change the logs, because only the logs contain verdicts on calls. There, the lines of a
judge's verdict replace the evaluator's lines about the comparison. All other lines stay the same.

A golden fix is `{"function_calls": [[{"name", "arguments"}]]}`, the golden calls of every step. The
dataset contains a reply to each call, so the numbers of steps and calls must stay the same. An LLM
judge makes the verdicts, so fcreview cannot recompute them, and a golden fix has an effect only in
a new run.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common import writeback
from fcreview.importers.common.records import as_object
from fcreview.importers.common.writeback import (
    CriterionKey,
    FixedRecord,
    GoldenFixes,
    JsonObject,
    LineEdits,
)
from fcreview.importers.complexfuncbench import checker
from fcreview.importers.complexfuncbench.checker import PredictedPath
from fcreview.importers.complexfuncbench.leaderboard import (
    compute_call_counts,
    get_sample_error_type,
    list_reviewed_calls,
)
from fcreview.importers.complexfuncbench.log import (
    COMPARISON,
    FAILURE,
    JUDGE_OUTPUT,
    JUDGE_SUCCESS,
    EvaluationLog,
    LogRecord,
    is_comparison_outcome,
    parse_log,
    split_log_records,
)
from fcreview.importers.complexfuncbench.read import pair_calls, read_dataset
from fcreview.model.address import RESPONSE, parse_address
from fcreview.model.effective_verdict import ROLL_UP_CRITERIA
from fcreview.model.item import Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import AppliedGoldenFix, RewrittenFile, RunPlan, Unrepresentable
from fcreview.safe_files import read_file

FIX_FIELD = "function_calls"


def check_golden_fix(run: Run, item: Item, golden_fix: JsonObject) -> str | None:  # noqa: ARG001
    """Check the golden calls that a reviewer wrote for a sample. Return the first error, or None.

    They are a list of steps, and each step is a list of calls.
    """
    error = writeback.check_fix_fields(golden_fix, FIX_FIELD)
    if error:
        return error
    steps = golden_fix[FIX_FIELD]
    if not isinstance(steps, list) or not all(isinstance(step, list) for step in steps):
        form = '{"name", "arguments"}'
        return f"{FIX_FIELD} must be a list of steps, and each step a list of {form}"

    error = _check_step_sizes(steps, item)
    if error:
        return error
    for call in chain.from_iterable(steps):
        error = _check_golden_call(call, item)
        if error:
            return error
    return None


def _check_step_sizes(steps: list[list[Any]], item: Item) -> str | None:
    """Check that each step has as many calls as before.

    The dataset has a recorded reply to each call, so calls cannot be added or removed.
    """
    n_calls_by_step = Counter(call.step for call in item.golden)
    # Steps are numbered from 0 without gaps.
    expected_sizes = [n_calls_by_step[step] for step in range(len(n_calls_by_step))]
    if [len(step) for step in steps] == expected_sizes:
        return None
    numbers = ", ".join(map(str, expected_sizes))
    return (
        f"the steps of {item.id} must have {numbers} calls, because the dataset has a reply to"
        " each call"
    )


def _check_golden_call(call: Any, item: Item) -> str | None:
    if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
        return 'a call must have the form {"name": string, "arguments": object}'
    return writeback.check_golden_call(call["name"], call["arguments"], item.functions)


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Yield the dataset files with the golden fixes.

    If several files contain a sample, all of them get the fix.
    """
    fixes_by_id = writeback.key_fixes_by_record(fixes)
    missing_ids = set(fixes_by_id)
    for path in plan.data:
        changes = writeback.rewrite_golden_file(path, fixes_by_id, apply_fix=_replace_golden_calls)
        for change in changes:
            if isinstance(change, AppliedGoldenFix):
                missing_ids.discard(change.item[1])
            # A sample that one file lacks may be in another file.
            if not isinstance(change, Unrepresentable):
                yield change
    if missing_ids:
        kind = "golden calls of samples that the dataset does not contain"
        yield Unrepresentable(kind, len(missing_ids))


def _replace_golden_calls(record: JsonObject, golden_fix: JsonObject) -> FixedRecord:
    """Replace the golden calls in a dataset record by those of a fix, step by step.

    In the record, a step is a turn of the conversation with `function_call`. The other turns stay.
    """
    new_steps = golden_fix[FIX_FIELD]
    old_steps: list[Any] = []
    turns: list[Any] = []
    for turn in record.get("conversations") or []:
        if not isinstance(turn, dict) or not turn.get("function_call"):
            turns.append(turn)
            continue
        step = len(old_steps)
        old_steps.append(turn["function_call"])
        if step < len(new_steps):
            turns.append(turn | {"function_call": new_steps[step]})
        else:
            turns.append(turn)
    return FixedRecord(old_steps, new_golden=new_steps, record=record | {"conversations": turns})


class ComparisonPosition(NamedTuple):
    """Position of a comparison in the last attempt of a log, from 0."""

    turn: int
    number: int
    """Number of the comparison in the turn."""


JUDGE_REASON = "an annotator gave this verdict"


class OverriddenLog(NamedTuple):
    text: str
    missing_addresses: set[str]
    """Addresses of the overridden calls that the log does not contain."""


def apply_overrides_to_log(
    log_text: str,
    result_record: JsonObject,
    dataset_record: JsonObject | None,
    overrides: Mapping[str, bool],
) -> OverriddenLog:
    """Write the reviewers' verdicts on calls into the evaluator's log of a sample.

    The log has a comparison for most calls. Verdicts on calls without one cannot be written; the
    result lists their addresses.

    Args:
        log_text: Text of the log.
        result_record: Result record of the sample.
        dataset_record: Dataset record of the sample, or None.
        overrides: Address of a call -> whether an annotator accepts it.
    """
    position_by_address = _locate_comparisons_by_address(
        parse_log(log_text), result_record, dataset_record
    )

    verdict_by_position: dict[ComparisonPosition, bool] = {}
    missing_addresses: set[str] = set()
    for address, is_accepted in overrides.items():
        position = position_by_address.get(address)
        if position is None:
            missing_addresses.add(address)
        else:
            verdict_by_position[position] = is_accepted
    return OverriddenLog(_replace_outcomes(log_text, verdict_by_position), missing_addresses)


def _locate_comparisons_by_address(
    log: EvaluationLog, result_record: JsonObject, dataset_record: JsonObject | None
) -> dict[str, ComparisonPosition]:
    """Find where the log has the comparison of each call, by the address of the call.

    Calls without a comparison are missing.
    """
    predicted_path = checker.parse_predicted_path(result_record)
    golden_path = checker.parse_golden_path(dataset_record)
    function_docs = (dataset_record or {}).get("functions") or []
    # An address is the place of a call pair, and the pairs follow from the verdicts on the calls.
    verdicts = checker.derive_call_verdicts(predicted_path, golden_path, function_docs, log)
    pairs = pair_calls(verdicts, golden_path)
    verdict_by_address = checker.index_verdicts_by_address(pairs, verdicts)

    position_by_call = _find_comparison_positions(predicted_path, log)
    position_by_address = {}
    for address, verdict in verdict_by_address.items():
        call_index = verdict.predicted.index
        if call_index in position_by_call:
            position_by_address[address] = position_by_call[call_index]
    return position_by_address


def _find_comparison_positions(
    predicted_path: PredictedPath, log: EvaluationLog
) -> dict[int, ComparisonPosition]:
    """Find where the log has the comparison of each predicted call.

    Returns the index of the call -> the position. Within a step, a call belongs to the first
    comparison that quotes it and that no earlier call took, as in `derive_call_verdicts`.
    """
    positions: dict[int, ComparisonPosition] = {}
    steps = zip(predicted_path.steps, log.turns, strict=False)
    for turn, (calls, logged_turn) in enumerate(steps):
        remaining = dict(enumerate(logged_turn.comparisons))
        for call in calls:
            json_call = checker.call_to_json(call)
            for number, comparison in remaining.items():
                if comparison.predicted == json_call:
                    positions[call.index] = ComparisonPosition(turn, number)
                    del remaining[number]
                    break
    return positions


def _replace_outcomes(log_text: str, verdict_by_position: Mapping[ComparisonPosition, bool]) -> str:
    """Replace the outcomes of some comparisons in an evaluator's log.

    In the log, a record of a comparison is followed by records of its outcome.
    `verdict_by_position` says which comparisons are accepted or rejected.
    """
    lines: list[str] = []
    is_outcome_replaced = False
    for located in _locate_comparisons(list(split_log_records(log_text))):
        record = located.record
        is_old_outcome = is_outcome_replaced and is_comparison_outcome(record.body)
        if is_old_outcome:
            continue

        lines.append(record.header + record.body)
        verdict = None
        if located.position is not None:
            verdict = verdict_by_position.get(located.position)
        is_outcome_replaced = verdict is not None
        if verdict is not None:
            lines += _format_outcome_lines(record.header, verdict)
    return "\n".join(lines)


def _format_outcome_lines(record_header: str, verdict: bool) -> list[str]:
    """Return the outcome of a comparison as lines of the log.

    It looks like that of a judge that agrees with the annotator, so that the official program can
    read it.
    """
    answer = {"is_equal": verdict, "reason": JUDGE_REASON}
    outcome = f"{JUDGE_SUCCESS}." if verdict else f"{FAILURE}."
    return [f"{record_header}{JUDGE_OUTPUT} {answer}", f"{record_header}{outcome}"]


class _LocatedRecord(NamedTuple):
    record: LogRecord
    position: ComparisonPosition | None
    """Position of the comparison that the record begins, or None for other records."""


def _locate_comparisons(records: Sequence[LogRecord]) -> Iterator[_LocatedRecord]:
    """Yield the records of a log, each with its position if it is a comparison.

    The evaluator can have tried a sample several times. Only the comparisons of the last attempt
    have a position: the number of the turn, and the number of the comparison in it, from 0.
    """
    last_attempt = 0
    for index, record in enumerate(records):
        if record.body.startswith("Test Example "):
            last_attempt = index

    turn = -1
    number = -1
    for index, record in enumerate(records):
        is_of_last_attempt = index >= last_attempt
        position = None
        # Each turn begins with the calls of the model. Their comparisons follow.
        if is_of_last_attempt and record.body.startswith("Function Calls:"):
            turn += 1
            number = -1
        elif is_of_last_attempt and record.body.startswith(COMPARISON):
            number += 1
            position = ComparisonPosition(turn, number)
        yield _LocatedRecord(record, position)


RESPONSE_SCORE_FIELDS = {"completeness": "complete", "correctness": "correct"}
NO_SCORE = -1
"""The evaluator's score if the judge gave no usable reply."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Write the reviewed verdicts of a run into its result file, and those on calls into the
    evaluator's logs.

    Yields the files that change, and the reviews that these files cannot represent.
    """
    path = plan.results[0]
    raw = read_file(path)
    overridden_items = {item.id: item for item in items if item.overrides}
    results = list(_find_results(raw, overridden_items))

    n_missing_calls = 0
    for log in _rewrite_logs(plan, results):
        n_missing_calls += log.n_missing_calls
        if log.file is not None:
            yield log.file

    yield from _find_unrepresentable_reviews(items, results)
    if n_missing_calls:
        kind = (
            "verdicts on calls that the logs do not contain (only the count of accepted calls is"
            " updated)"
        )
        yield Unrepresentable(kind, n_missing_calls)

    edits = _list_record_edits(results)
    if edits:
        yield RewrittenFile(path, writeback.apply_line_edits(raw, edits))


def _find_unrepresentable_reviews(
    items: Sequence[ScoredItem], results: Sequence[_ReviewedResult]
) -> Iterator[Unrepresentable]:
    """Yield the reviews that the result file and the logs cannot contain, whatever they say."""
    # Items without a result record are not in the file.
    written_ids = {result.item.id for result in results}

    def is_representable(item: ScoredItem, key: CriterionKey) -> bool:
        return item.id in written_ids and _is_representable(key)

    yield from writeback.find_unrepresentable_reviews(items, is_representable)


class _ReviewedResult(NamedTuple):
    """A result record whose item has overrides."""

    line: int
    record: JsonObject
    item: ScoredItem


def _list_record_edits(results: Sequence[_ReviewedResult]) -> LineEdits:
    """Return the lines of the result file that reviews change."""
    edits = LineEdits()
    for result in results:
        new_record = apply_overrides_to_record(result.record, result.item)
        if new_record != result.record:
            edits.replaced[result.line] = new_record
    return edits


def _find_results(raw: bytes, items: Mapping[str, ScoredItem]) -> Iterator[_ReviewedResult]:
    """Yield the result records of items, which are given by id. The id of a record that repeats an
    id contains its line number, as in `read_items`.
    """
    seen_ids: set[str] = set()
    for line, record in writeback.parse_numbered_records(raw):
        sample_id = str(record.get("id"))
        item_id = f"{sample_id}#{line}" if sample_id in seen_ids else sample_id
        seen_ids.add(sample_id)
        if item_id in items:
            yield _ReviewedResult(line, record, items[item_id])


class RewrittenLog(NamedTuple):
    file: RewrittenFile | None
    """The log with the overrides, or None if it does not change."""
    n_missing_calls: int
    """Number of overridden calls that the log does not contain."""


def _rewrite_logs(plan: RunPlan, results: Sequence[_ReviewedResult]) -> Iterator[RewrittenLog]:
    """Write the reviews of calls into the logs of their samples, and yield the outcomes."""
    samples = read_dataset(plan.data).samples if results else {}
    for result in results:
        yield _rewrite_log(plan, result, samples.get(result.item.id))


def _rewrite_log(
    plan: RunPlan, result: _ReviewedResult, dataset_record: JsonObject | None
) -> RewrittenLog:
    """Write the reviews of the calls of a sample into its log, if it has one.

    The outcome has the changed log, or None, and the number of reviews that could not be written.
    """
    overrides = _list_overridden_calls(result.item)
    if not overrides:
        return RewrittenLog(file=None, n_missing_calls=0)
    path = _find_log(plan, result.item.id)
    if path is None:
        return RewrittenLog(file=None, n_missing_calls=len(overrides))

    text = read_file(path).decode("utf-8", "surrogateescape")
    new_log = apply_overrides_to_log(text, result.record, dataset_record, overrides)
    n_missing = len(new_log.missing_addresses)
    if new_log.text == text:
        return RewrittenLog(file=None, n_missing_calls=n_missing)
    content = new_log.text.encode("utf-8", "surrogateescape")
    return RewrittenLog(RewrittenFile(path, content), n_missing)


def _list_overridden_calls(item: ScoredItem) -> dict[str, bool]:
    """Return address of a call -> its reviewed verdict."""
    overrides = {}
    for (target, criterion), value in item.overrides.items():
        is_part = parse_address(target) is not None
        if is_part and criterion in ROLL_UP_CRITERIA and isinstance(value, bool):
            overrides[target] = value
    return overrides


def _find_log(plan: RunPlan, sample_id: str) -> Path | None:
    for path in plan.logs:
        if path.stem == sample_id:
            return path
    return None


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Find saved output of `print_results.py`."""
    paths = [result_file.with_suffix(".print_results.txt") for result_file in plan.results]
    return [path for path in paths if path.is_file()]


def _is_representable(criterion_key: CriterionKey) -> bool:
    """Return whether the files can represent an override: a verdict on a sample or a call, or a
    response score.
    """
    target, criterion = criterion_key
    address = parse_address(target)
    if address is not None:
        is_call = address.call is not None and address.argument is None
        return is_call and criterion in ROLL_UP_CRITERIA
    if target == RESPONSE:
        return criterion in RESPONSE_SCORE_FIELDS
    return criterion_key == ITEM_CORRECT


def apply_overrides_to_record(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Return the result record of a sample after the reviews.

    Reviews change the outcome, the number of accepted calls, and the scores of the response.
    """
    new_record = dict(record)
    calls = list_reviewed_calls(item)
    verdict = writeback.get_item_override(item)
    if verdict is True:
        new_record["message"] = "Success."
    elif verdict is False:
        error_type = get_sample_error_type(item, calls)
        new_record["message"] = {"error_type": error_type, "content": writeback.ANNOTATOR_REASON}

    counts = record.get("count_dict")
    is_call_overridden = any(call.override is not None for call in calls)
    if isinstance(counts, dict) and is_call_overridden:
        n_correct = compute_call_counts(item, calls).correct
        new_record["count_dict"] = counts | {"correct_call_num": n_correct}

    new_scores = _list_overridden_scores(item)
    if new_scores:
        new_record["resp_eval"] = _replace_response_scores(record.get("resp_eval"), new_scores)
    return new_record


def _list_overridden_scores(item: ScoredItem) -> dict[str, int]:
    """Return name of a field of `resp_eval` -> overridden score."""
    scores = {}
    for criterion, field_name in RESPONSE_SCORE_FIELDS.items():
        value = item.overrides.get((RESPONSE, criterion))
        if isinstance(value, int):
            scores[field_name] = value
    return scores


def _replace_response_scores(recorded: Any, new_scores: Mapping[str, int]) -> JsonObject:
    """Return `resp_eval`, the judge's scores of the final response, with new scores.

    A score that is neither recorded nor new is marked as not given by the judge.
    """
    if isinstance(recorded, dict):
        entries = dict(recorded)
    else:
        no_score = {"score": NO_SCORE, "reason": "the judge gave no score"}
        entries = dict.fromkeys(RESPONSE_SCORE_FIELDS.values(), no_score)
    for field_name, score in new_scores.items():
        entries[field_name] = as_object(entries.get(field_name)) | {"score": score}
    return entries


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """Return the golden calls of every step as a golden fix, or None without decoded golden
    calls.
    """
    if not writeback.has_only_decoded_calls(item.golden):
        return None
    calls_by_step: defaultdict[int, list[JsonObject]] = defaultdict(list)
    for call in item.golden:
        arguments = writeback.first_accepted_arguments(call)
        calls_by_step[call.step].append({"name": call.name, "arguments": arguments})
    return {FIX_FIELD: [calls_by_step[step] for step in sorted(calls_by_step)]}


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """Return None, because fcreview cannot recompute verdicts of this benchmark."""
    return None

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

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any, NamedTuple

from fcreview.importers.common import writeback
from fcreview.importers.common.writeback import CriterionKey, GoldenFixes, JsonObject, LineEdits
from fcreview.importers.complexfuncbench import checker
from fcreview.importers.complexfuncbench.checker import PredictedPath
from fcreview.importers.complexfuncbench.leaderboard import (
    compute_call_counts,
    get_sample_error_type,
    list_reviewed_calls,
)
from fcreview.importers.complexfuncbench.log import (
    EvaluationLog,
    LoggedComparison,
    parse_log,
    split_log_records,
    try_apply_outcome,
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
    if error := writeback.check_fix_fields(golden_fix, FIX_FIELD):
        return error
    steps = golden_fix[FIX_FIELD]
    if not isinstance(steps, list) or not all(isinstance(step, list) for step in steps):
        return (
            f'{FIX_FIELD} must be a list of steps, and each step a list of {{"name", "arguments"}}'
        )
    sizes = Counter(call.step for call in item.golden)
    expected = [sizes[step] for step in range(len(sizes))]
    if list(map(len, steps)) != expected:
        numbers = ", ".join(map(str, expected))
        return (
            f"the steps of {item.id} must have {numbers} calls, because the dataset has a reply to"
            " each call"
        )
    for call in (call for step in steps for call in step):
        if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
            return 'a call must have the form {"name": string, "arguments": object}'
        if error := writeback.check_golden_call(call["name"], call["arguments"], item.functions):
            return error
    return None


def rewrite_golden(
    plan: RunPlan, fixes: GoldenFixes
) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Yield the dataset files with the golden fixes.

    If several files contain a sample, all of them get the fix.
    """
    fixes_by_id = writeback.key_fixes_by_record(fixes)
    missing = set(fixes_by_id)
    for path in plan.data:
        for each in writeback.rewrite_golden_file(path, fixes_by_id, replace=_replace_golden_calls):
            if isinstance(each, AppliedGoldenFix):
                missing.discard(each.item[1])
            if not isinstance(each, Unrepresentable):
                yield each
    if missing:
        yield Unrepresentable(
            "golden calls of samples that the dataset does not contain", len(missing)
        )


def _replace_golden_calls(
    record: JsonObject, golden_fix: JsonObject
) -> tuple[Any, Any, JsonObject]:
    """Return the old golden calls, the new golden calls and the record with the new calls."""
    new_steps = iter(golden_fix[FIX_FIELD])
    old_steps, turns = list[Any](), list[Any]()
    for turn in record.get("conversations") or []:
        if isinstance(turn, dict) and turn.get("function_call"):
            old_steps.append(turn["function_call"])
            turns.append(turn | {"function_call": next(new_steps, turn["function_call"])})
        else:
            turns.append(turn)
    return old_steps, golden_fix[FIX_FIELD], record | {"conversations": turns}


ComparisonPosition = tuple[int, int]
"""Position of a comparison in the last attempt of a log: its turn and its number in the turn,
both from 0.
"""
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
    """Return a log with overridden verdicts on calls.

    Args:
        log_text: text of the log.
        result_record: result record of the sample.
        dataset_record: dataset record of the sample, or None.
        overrides: address of a call -> whether an annotator accepts it.
    """
    log, predicted_path = parse_log(log_text), checker.parse_predicted_path(result_record)
    golden_path = checker.parse_golden_path(dataset_record)
    function_docs = (dataset_record or {}).get("functions") or []
    verdicts = checker.derive_call_verdicts(predicted_path, golden_path, function_docs, log)
    comparisons = _find_comparison_positions(predicted_path, log)
    by_address = checker.index_verdicts_by_address(pair_calls(verdicts, golden_path), verdicts)
    positions = {
        address: comparisons.get(each.predicted.index) for address, each in by_address.items()
    }
    found = {address: at for address in overrides if (at := positions.get(address)) is not None}
    new_text = _replace_outcomes(
        log_text, {at: overrides[address] for address, at in found.items()}
    )
    return OverriddenLog(new_text, overrides.keys() - found)


def _find_comparison_positions(
    predicted_path: PredictedPath, log: EvaluationLog
) -> dict[int, ComparisonPosition]:
    """Return the position of each predicted call's comparison in the log, matched as in
    `derive_call_verdicts`.
    """
    positions: dict[int, ComparisonPosition] = {}
    for turn, (calls, logged) in enumerate(zip(predicted_path.steps, log.turns, strict=False)):
        remaining = list(enumerate(logged.comparisons))
        for call in calls:
            comparison = next(
                (each for each in remaining if each[1].predicted == checker.call_to_json(call)),
                None,
            )
            if comparison is not None:
                remaining.remove(comparison)
                positions[call.index] = (turn, comparison[0])
    return positions


def _replace_outcomes(
    log_text: str, verdicts_by_position: Mapping[ComparisonPosition, bool]
) -> str:
    records = list(split_log_records(log_text))
    attempts = [
        index for index, record in enumerate(records) if record.body.startswith("Test Example ")
    ]
    last_attempt = max(attempts, default=0)
    lines: list[str] = []
    turn, comparison, verdict = -1, -1, None
    for index, record in enumerate(records):
        if index >= last_attempt and record.body.startswith("Function Calls:"):
            turn, comparison = turn + 1, -1
        if verdict is not None and try_apply_outcome(record.body, LoggedComparison(None, None)):
            continue
        verdict = None
        lines += record.lines
        if index >= last_attempt and record.body.startswith("Start compare_single_call:"):
            comparison += 1
            verdict = verdicts_by_position.get((turn, comparison))
            if verdict is not None:
                outcome = "LLM-based compare success." if verdict else "All compare method failed."
                reply = {"is_equal": verdict, "reason": JUDGE_REASON}
                lines += [
                    f"{record.header}LLM-based comparison output: {reply}",
                    f"{record.header}{outcome}",
                ]
    return "\n".join(lines)


RESPONSE_SCORE_FIELDS = {"completeness": "complete", "correctness": "correct"}
NO_SCORE = -1
"""The evaluator's score if the judge gave no usable reply."""


def rewrite_scores(
    plan: RunPlan, items: Sequence[ScoredItem]
) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the result file and the logs with the overrides, and the overrides that these files
    cannot represent.
    """
    path = plan.results[0]
    raw = read_file(path)
    overridden_items = {item.id: item for item in items if item.overrides}
    samples = read_dataset(plan.data, []) if overridden_items else {}
    edits, seen_ids, found_ids, n_missing_calls = LineEdits(), set[str](), set[str](), 0
    for line, record in writeback.parse_numbered_records(raw):
        name = str(record.get("id"))
        item = overridden_items.get(f"{name}#{line}" if name in seen_ids else name)
        seen_ids.add(name)
        if item is None:
            continue
        found_ids.add(item.id)
        new_record = apply_overrides_to_record(record, item)
        if new_record != record:
            edits.replaced[line] = new_record
        log, missing = _rewrite_log(plan, record, item, samples)
        n_missing_calls += missing
        if log is not None:
            yield log
    yield from writeback.find_unrepresentable_reviews(
        items, lambda item, key: item.id in found_ids and _is_representable(key)
    )
    if n_missing_calls:
        text = (
            "verdicts on calls that the logs do not contain (only the count of accepted calls is"
            " updated)"
        )
        yield Unrepresentable(text, n_missing_calls)
    if edits:
        yield RewrittenFile(path, writeback.apply_line_edits(raw, edits))


class RewrittenLog(NamedTuple):
    file: RewrittenFile | None
    """The log with the overrides, or None if it does not change."""
    n_missing_calls: int
    """Number of overridden calls that the log does not contain."""


def _rewrite_log(
    plan: RunPlan, result_record: JsonObject, item: ScoredItem, samples: dict[str, JsonObject]
) -> RewrittenLog:
    """Write the overrides on the calls of a sample into its log."""
    overrides = {
        target: value
        for (target, criterion), value in item.overrides.items()
        if criterion in ROLL_UP_CRITERIA
        and isinstance(value, bool)
        and parse_address(target) is not None
    }
    if not overrides:
        return RewrittenLog(None, 0)
    path = next((each for each in plan.logs if each.stem == item.id), None)
    if path is None:
        return RewrittenLog(None, len(overrides))
    text = read_file(path).decode("utf-8", "surrogateescape")
    new_text, missing = apply_overrides_to_log(text, result_record, samples.get(item.id), overrides)
    content = new_text.encode("utf-8", "surrogateescape")
    return RewrittenLog(RewrittenFile(path, content) if new_text != text else None, len(missing))


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Find saved output of `print_results.py`."""
    return [
        path
        for result_file in plan.results
        if (path := result_file.with_suffix(".print_results.txt")).is_file()
    ]


def _is_representable(criterion_key: CriterionKey) -> bool:
    """Return whether the files can represent an override: a verdict on a sample or a call, or a
    response score.
    """
    target, criterion = criterion_key
    part = parse_address(target)
    if part is not None:
        return part.call is not None and part.argument is None and criterion in ROLL_UP_CRITERIA
    return criterion_key == ITEM_CORRECT or (
        target == RESPONSE and criterion in RESPONSE_SCORE_FIELDS
    )


def apply_overrides_to_record(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Return a result record with the outcome, count of accepted calls and response scores after
    the overrides.
    """
    new_record, calls = dict(record), list_reviewed_calls(item)
    if writeback.get_item_override(item) is True:
        new_record["message"] = "Success."
    elif writeback.get_item_override(item) is False:
        error_type = get_sample_error_type(item, calls)
        new_record["message"] = {"error_type": error_type, "content": writeback.ANNOTATOR_REASON}
    counts = record.get("count_dict")
    if isinstance(counts, dict) and any(call.override is not None for call in calls):
        new_record["count_dict"] = counts | {
            "correct_call_num": compute_call_counts(item, calls).correct
        }
    scores = record.get("resp_eval")
    for criterion, name in RESPONSE_SCORE_FIELDS.items():
        value = item.overrides.get((RESPONSE, criterion))
        if isinstance(value, int):
            missing = {"score": NO_SCORE, "reason": "the judge gave no score"}
            scores = (
                dict(scores)
                if isinstance(scores, dict)
                else dict.fromkeys(RESPONSE_SCORE_FIELDS.values(), missing)
            )
            before = scores.get(name)
            scores[name] = (before if isinstance(before, dict) else {}) | {"score": value}
            new_record["resp_eval"] = scores
    return new_record


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """Return the golden calls of every step as a golden fix, or None without decoded golden
    calls.
    """
    if not writeback.has_only_decoded_calls(item.golden):
        return None
    steps = groupby(sorted(item.golden, key=lambda call: call.step), key=lambda call: call.step)
    calls = [
        [
            {"name": each.name, "arguments": writeback.first_accepted_arguments(each)}
            for each in step
        ]
        for _, step in steps
    ]
    return {FIX_FIELD: calls}


def recompute_verdict(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """Return None, because fcreview cannot recompute verdicts of this benchmark."""
    return None

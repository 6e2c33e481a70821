"""Write reviews and golden fixes to ComplexFuncBench's own files.

Overrides change the outcome, the counts and the response scores in result records. Overrides on calls also change the
logs, the only files with verdicts on calls: the evaluator's lines about a pair of calls are replaced by the lines of a
judge's verdict. All other lines of a log are kept.

A golden fix is `{"function_calls": [[{"name", "arguments"}]]}`, the golden calls of every step. The dataset contains a
reply to each call, so the number of steps and calls must stay the same. Verdicts are not recomputed, because an LLM
judge makes them: golden fixes have an effect only in a new run.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

from fcreview.importers.common import writeback
from fcreview.importers.common.writeback import CriterionKey, GoldenFixes, JsonObject, LineEdits
from fcreview.importers.complexfuncbench import checker
from fcreview.importers.complexfuncbench.checker import PredictedPath
from fcreview.importers.complexfuncbench.leaderboard import (
    count_accepted_calls,
    get_sample_error,
    read_reviewed_calls,
)
from fcreview.importers.complexfuncbench.log import (
    EvaluationLog,
    LoggedComparison,
    apply_outcome_line,
    parse_log,
    split_log,
)
from fcreview.importers.complexfuncbench.read import pair_calls, read_dataset
from fcreview.model.address import RESPONSE, parse_address
from fcreview.model.decision import ROLL_UP_CRITERIA
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
        return f'{FIX_FIELD} must be a list of steps, each a list of {{"name", "arguments"}}'
    sizes = Counter(call.step for call in item.golden)
    expected = [sizes[step] for step in range(len(sizes))]
    if list(map(len, steps)) != expected:
        numbers = ", ".join(map(str, expected))
        return f"the steps of {item.id} must have {numbers} calls, because the dataset has a reply to each call"
    for call in (call for step in steps for call in step):
        if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
            return 'a call must be {"name": text, "arguments": object}'
        if error := writeback.check_golden_call(call["name"], call["arguments"], item.functions):
            return error
    return None


def rewrite_golden(plan: RunPlan, fixes: GoldenFixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """Yield the dataset files with the golden fixes. A sample in several files is changed in each."""
    fixes_by_id = writeback.fixes_by_record(fixes)
    missing = set(fixes_by_id)
    for path in plan.data:
        for each in writeback.rewrite_golden_file(path, fixes_by_id, replace=_replace_golden_calls):
            if isinstance(each, AppliedGoldenFix):
                missing.discard(each.item[1])
            if not isinstance(each, Unrepresentable):
                yield each
    if missing:
        yield Unrepresentable("golden calls of samples that the dataset does not contain", len(missing))


def _replace_golden_calls(record: JsonObject, golden_fix: JsonObject) -> tuple[Any, Any, JsonObject]:
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
"""(turn with calls, comparison in the turn), both from 0, in the last attempt."""
JUDGE_REASON = "verdict of an annotator"


def override_log(
    text: str, record: JsonObject, sample: JsonObject | None, overrides: Mapping[str, bool]
) -> tuple[str, set[str]]:
    """Write overridden verdicts on calls, as `{address: whether the call is accepted}`, into a log.

    `record` is the result record, and `sample` the dataset record. Returns the new log, and the addresses of the
    overridden calls that the log does not contain.
    """
    log, predicted_path, golden_path = (
        parse_log(text),
        checker.read_predicted_path(record),
        checker.read_golden_path(sample),
    )
    verdicts = checker.derive_call_verdicts(predicted_path, golden_path, (sample or {}).get("functions") or [], log)
    comparisons = _find_comparisons(predicted_path, log)
    by_address = checker.verdicts_by_address(pair_calls(verdicts, golden_path), verdicts)
    positions = {address: comparisons.get(each.predicted.index) for address, each in by_address.items()}
    found = {address: at for address in overrides if (at := positions.get(address)) is not None}
    return _insert_verdicts(text, {at: overrides[address] for address, at in found.items()}), overrides.keys() - found


def _find_comparisons(predicted_path: PredictedPath, log: EvaluationLog) -> dict[int, ComparisonPosition]:
    """Return the position of each predicted call's comparison in the log, matched as in `derive_call_verdicts`."""
    positions: dict[int, ComparisonPosition] = {}
    for turn, (calls, logged) in enumerate(zip(predicted_path.steps, log.turns, strict=False)):
        remaining = list(enumerate(logged.comparisons))
        for call in calls:
            comparison = next((each for each in remaining if each[1].predicted == checker.call_to_json(call)), None)
            if comparison is not None:
                remaining.remove(comparison)
                positions[call.index] = (turn, comparison[0])
    return positions


def _insert_verdicts(text: str, verdicts_by_position: Mapping[ComparisonPosition, bool]) -> str:
    records = list(split_log(text))
    attempts = [index for index, record in enumerate(records) if record.text.startswith("Test Example ")]
    last_attempt = max(attempts, default=0)
    lines: list[str] = []
    turn, comparison, verdict = -1, -1, None
    for index, record in enumerate(records):
        if index >= last_attempt and record.text.startswith("Function Calls:"):
            turn, comparison = turn + 1, -1
        if verdict is not None and apply_outcome_line(record.text, LoggedComparison(None, None)):
            continue
        verdict = None
        lines += record.lines
        if index >= last_attempt and record.text.startswith("Start compare_single_call:"):
            comparison += 1
            verdict = verdicts_by_position.get((turn, comparison))
            if verdict is not None:
                outcome = "LLM-based compare success." if verdict else "All compare method failed."
                reply = {"is_equal": verdict, "reason": JUDGE_REASON}
                lines += [f"{record.header}LLM-based comparison output: {reply}", f"{record.header}{outcome}"]
    return "\n".join(lines)


RESPONSE_SCORE_FIELDS = {"completeness": "complete", "correctness": "correct"}
NO_SCORE = -1
"""The evaluator's score if the judge gave no usable reply."""


def rewrite_scores(plan: RunPlan, items: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    """Yield the result file and the logs that overrides change, and the overrides that they cannot represent."""
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
        new_record = override_record(record, item)
        if new_record != record:
            edits.replaced[line] = new_record
        log, missing = _rewrite_log(plan, record, item, samples)
        n_missing_calls += missing
        if log is not None:
            yield log
    yield from writeback.find_unrepresentable(items, lambda item, key: item.id in found_ids and _is_representable(key))
    if n_missing_calls:
        text = "verdicts on calls missing from the logs (only the count of accepted calls is updated)"
        yield Unrepresentable(text, n_missing_calls)
    if edits:
        yield RewrittenFile(path, writeback.apply_edits(raw, edits))


def _rewrite_log(
    plan: RunPlan, record: JsonObject, item: ScoredItem, samples: dict[str, JsonObject]
) -> tuple[RewrittenFile | None, int]:
    """Return the log of a sample if it changes, and the number of overridden calls that it does not contain."""
    overrides = {
        target: value
        for (target, criterion), value in item.overrides.items()
        if criterion in ROLL_UP_CRITERIA and isinstance(value, bool) and parse_address(target) is not None
    }
    if not overrides:
        return None, 0
    path = next((each for each in plan.logs if each.stem == item.id), None)
    if path is None:
        return None, len(overrides)
    text = read_file(path).decode("utf-8", "surrogateescape")
    new_text, missing = override_log(text, record, samples.get(item.id), overrides)
    content = new_text.encode("utf-8", "surrogateescape")
    return (RewrittenFile(path, content) if new_text != text else None), len(missing)


def find_summary_files(plan: RunPlan) -> list[Path]:
    """Find saved output of `print_results.py`."""
    return [path for result_file in plan.results if (path := result_file.with_suffix(".print_results.txt")).is_file()]


def _is_representable(key: CriterionKey) -> bool:
    """Return whether the files can represent an override. They have verdicts on samples and calls, and scores."""
    target, criterion = key
    part = parse_address(target)
    if part is not None:
        return part.call is not None and part.argument is None and criterion in ROLL_UP_CRITERIA
    return key == ITEM_CORRECT or (target == RESPONSE and criterion in RESPONSE_SCORE_FIELDS)


def override_record(record: JsonObject, item: ScoredItem) -> JsonObject:
    """Return a result record with the effective outcome, count of accepted calls and response scores."""
    new_record, calls = dict(record), read_reviewed_calls(item)
    if writeback.get_item_override(item) is True:
        new_record["message"] = "Success."
    elif writeback.get_item_override(item) is False:
        new_record["message"] = {"error_type": get_sample_error(item, calls), "content": writeback.ANNOTATOR_REASON}
    counts = record.get("count_dict")
    if isinstance(counts, dict) and any(call.override is not None for call in calls):
        new_record["count_dict"] = counts | {"correct_call_num": count_accepted_calls(item, calls).correct}
    scores = record.get("resp_eval")
    for criterion, name in RESPONSE_SCORE_FIELDS.items():
        value = item.overrides.get((RESPONSE, criterion))
        if isinstance(value, int):
            missing = {each: {"score": NO_SCORE, "reason": "not judged"} for each in RESPONSE_SCORE_FIELDS.values()}
            scores = dict(scores) if isinstance(scores, dict) else missing
            before = scores.get(name)
            scores[name] = (before if isinstance(before, dict) else {}) | {"score": value}
            new_record["resp_eval"] = scores
    return new_record


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """Return the golden calls of every step as a golden fix, or None if there are none."""
    if not writeback.has_decoded_calls(item.golden):
        return None
    steps = groupby(sorted(item.golden, key=lambda call: call.step), key=lambda call: call.step)
    calls = [
        [{"name": each.name, "arguments": writeback.first_accepted_arguments(each)} for each in step]
        for _, step in steps
    ]
    return {FIX_FIELD: calls}


def recheck(run: Run, item: Item, golden_fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    """Return None: verdicts cannot be recomputed."""
    return None

"""The way back: this benchmark's own files by what people say.

Golden calls of ComplexFuncBench's dataset. A fix is `{"function_calls": [[{"name", "arguments"}]]}`: the calls of
every step. The dataset has a reply for each call, so steps and calls stay as many as they are.

The recorded verdicts were made with the former calls: only a new run judges by these.

A sample's log by what people say of its calls: the log is the only place that keeps the verdict on a call.

What the tiers said of a pair gives way to the lines of a judge's verdict; the rest of the log tells how the run went,
and stays.

ComplexFuncBench's result records and logs by what people say: outcome, counts, response scores, and in the logs how
each call was judged.

A record is what the model did and what the evaluator made of it in one; only the latter changes.

ComplexFuncBench's golden calls from stored items. Its verdicts are a judge's: they are not recomputed.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.importers.common.writeback import ANNOTATOR_REASON as COMMON_WORDS
from fcreview.importers.common.writeback import (
    LineEdits,
    GoldenFixes,
    JsonObject,
    CriterionKey,
    fixes_by_record,
    apply_edits,
    first_accepted_arguments,
    parse_numbered_records,
    check_fix_fields,
    item_override,
    has_decoded_calls,
    rewrite_golden_file,
    find_unrepresentable,
    check_golden_call,
)
from fcreview.importers.complexfuncbench.calls import PredictedPath, verdicts_by_address, call_to_json, read_golden_path, derive_call_verdicts, read_predicted_path
from fcreview.importers.complexfuncbench.log import RECORD_HEADER, LoggedComparison, EvaluationLog, apply_outcome_line, parse_log
from fcreview.importers.complexfuncbench.read import count_accepted_calls, read_dataset, get_sample_error, read_reviewed_calls, pair_calls
from fcreview.model.address import RESPONSE, parse_address
from fcreview.model.decision import ROLL_UP_CRITERIA
from fcreview.model.item import Item, Run
from fcreview.model.metric import ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan
from fcreview.safe_files import read_file

FIX_FIELD = "function_calls"


def check_golden_fix(run: Run, item: Item, fix: JsonObject) -> str | None:  # noqa: ARG001
    """What is wrong with a golden fix of an item; None if nothing is."""
    wrong = check_fix_fields(fix, FIX_FIELD)
    if wrong:
        return wrong
    steps = fix[FIX_FIELD]
    if not isinstance(steps, list) or not all(isinstance(step, list) for step in steps):
        return f'{FIX_FIELD} is a list of steps, each a list of {{"name", "arguments"}}'
    sizes = Counter(call.step for call in item.golden)
    if [len(step) for step in steps] != [sizes[step] for step in range(len(sizes))]:
        has = ", ".join(str(sizes[step]) for step in range(len(sizes)))
        return f"the steps of {item.id} have {has} calls, for which the dataset has replies: as many are needed"
    for call in (call for step in steps for call in step):
        if not isinstance(call, dict) or set(call) != {"name", "arguments"}:
            return 'a call is {"name": text, "arguments": object}'
        wrong = check_golden_call(call["name"], call["arguments"], item.functions)
        if wrong:
            return wrong
    return None


def rewrite_golden(plan: RunPlan, fixes: GoldenFixes) -> Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]:
    """The dataset's files with these golden calls; of a sample in several files, each."""
    wanted = fixes_by_record(fixes)
    missing = set(wanted)
    for path in plan.data:
        for each in rewrite_golden_file(path, wanted, replace=_replace_golden_calls):
            if isinstance(each, Unrepresentable):
                continue
            if isinstance(each, AppliedGoldenFix):
                missing.discard(each.item[1])
            yield each
    if missing:
        yield Unrepresentable("golden calls of samples that the dataset does not have", len(missing))


def _replace_golden_calls(record: JsonObject, fix: JsonObject) -> tuple[Any, Any, JsonObject]:
    steps = iter(fix[FIX_FIELD])
    old, turns = list[Any](), list[Any]()
    for turn in record.get("conversations") or []:
        if isinstance(turn, dict) and turn.get("function_call"):
            old.append(turn["function_call"])
            turns.append(turn | {"function_call": next(steps, turn["function_call"])})
        else:
            turns.append(turn)
    return old, fix[FIX_FIELD], record | {"conversations": turns}


ComparisonPosition = tuple[int, int]
"""(call turn, comparison in it), both from 0, in the last try."""
JUDGE_REASON = "people say so"


def override_log(text: str, record: JsonObject, known: JsonObject | None, said: Mapping[str, bool]) -> tuple[str, set[str]]:
    """The log with people's verdicts on calls, by address, and of which calls it has none. `known` is the dataset's
    sample."""
    log, ours, golden = parse_log(text), read_predicted_path(record), read_golden_path(known)
    verdicts = derive_call_verdicts(ours, golden, (known or {}).get("functions") or [], log)
    compared = _find_comparisons(ours, log)
    places: dict[ComparisonPosition, bool] = {}
    missing = set(said)
    for address, verdict in verdicts_by_address(pair_calls(verdicts, golden), verdicts).items():
        place = compared.get(verdict.predicted.index)
        if address in said and place is not None:
            places[place] = said[address]
            missing.discard(address)
    return _insert_verdicts(text, places), missing


def _find_comparisons(ours: PredictedPath, log: EvaluationLog) -> dict[int, ComparisonPosition]:
    """Which comparison is of which predicted call: taken in order, as `judge_calls` takes them."""
    found: dict[int, ComparisonPosition] = {}
    for turn, (calls, logged) in enumerate(zip(ours.steps, log.turns, strict=False)):
        rest = list(enumerate(logged.comparisons))
        for call in calls:
            place = next((each for each in rest if each[1].predicted == call_to_json(call)), None)
            if place is not None:
                rest.remove(place)
                found[call.index] = (turn, place[0])
    return found


@dataclass(slots=True)
class _LogRecord:
    """A record of the log with its header, or what stands before the first."""

    header: str
    lines: list[str]

    @property
    def text(self) -> str:
        return "\n".join([self.lines[0][len(self.header) :], *self.lines[1:]])


def _split_log(text: str) -> Iterator[_LogRecord]:
    part: _LogRecord | None = None
    for line in text.split("\n"):
        found = RECORD_HEADER.match(line)
        if found or part is None:
            if part is not None:
                yield part
            part = _LogRecord(found.group() if found else "", [line])
        else:
            part.lines.append(line)
    if part is not None:
        yield part


def _insert_verdicts(text: str, places: Mapping[ComparisonPosition, bool]) -> str:
    parts = list(_split_log(text))
    start = max((at for at, part in enumerate(parts) if part.text.startswith("Test Example ")), default=0)
    kept: list[str] = []
    turn, number, said = -1, -1, None
    for at, part in enumerate(parts):
        if at >= start and part.text.startswith("Function Calls:"):
            turn, number = turn + 1, -1
        if said is not None and apply_outcome_line(part.text, LoggedComparison(None, None)):
            continue
        said = None
        kept += part.lines
        if at >= start and part.text.startswith("Start compare_single_call:"):
            number += 1
            said = places.get((turn, number))
            if said is not None:
                kept += _make_verdict_lines(part.header, said)
    return "\n".join(kept)


def _make_verdict_lines(header: str, accepted: bool) -> list[str]:
    end = "LLM-based compare success." if accepted else "All compare method failed."
    judge = {"is_equal": accepted, "reason": JUDGE_REASON}
    return [f"{header}LLM-based comparison output: {judge}", f"{header}{end}"]


RESPONSE_SCORE_FIELDS = {"completeness": "complete", "correctness": "correct"}
"""Criterion -> its name in `resp_eval`."""
NO_SCORE = -1
"""The score of a judge that gave no usable reply."""


def rewrite_scores(plan: RunPlan, rows: Sequence[ScoredItem]) -> Iterator[RewrittenFile | Unrepresentable]:
    path = plan.results[0]
    raw = read_file(path)
    by_id = {row.id: row for row in rows if row.overrides}
    samples = read_dataset(plan.data, []) if by_id else {}
    edits, found, lost = LineEdits(), set[str](), 0
    for line, name, record in _iter_named_records(raw):
        row = by_id.get(name)
        if row is None:
            continue
        found.add(name)
        new = override_record(record, row)
        if new != record:
            edits.replaced[line] = new
        log, missing = _rewrite_log(plan, record, row, samples)
        lost += missing
        if log is not None:
            yield log
    yield from find_unrepresentable(rows, lambda row, key: row.id in found and _is_representable(key))
    if lost:
        yield Unrepresentable("how a call was compared, where no log says: only the count of accepted calls follows", lost)
    if edits:
        yield RewrittenFile(path, apply_edits(raw, edits))


def _iter_named_records(raw: bytes) -> Iterator[tuple[int, str, JsonObject]]:
    """(line, item, record)"""
    seen: set[str] = set()
    for line, record in parse_numbered_records(raw):
        name = str(record.get("id"))
        yield line, f"{name}#{line}" if name in seen else name, record
        seen.add(name)


def _rewrite_log(plan: RunPlan, record: JsonObject, row: ScoredItem, samples: dict[str, JsonObject]) -> tuple[RewrittenFile | None, int]:
    """The sample's log, if it changes; and how many calls it says nothing of."""
    said = {target: value for (target, criterion), value in row.overrides.items()
            if criterion in ROLL_UP_CRITERIA and isinstance(value, bool) and parse_address(target) is not None}  # fmt: skip
    if not said:
        return None, 0
    path = next((each for each in plan.logs if each.stem == row.id), None)
    if path is None:
        return None, len(said)
    text = read_file(path).decode("utf-8", "surrogateescape")
    new, missing = override_log(text, record, samples.get(row.id), said)
    content = new.encode("utf-8", "surrogateescape")
    return (RewrittenFile(path, content) if new != text else None), len(missing)


def find_summary_files(plan: RunPlan) -> list[Path]:
    """What `print_results.py` printed, where somebody kept it."""
    return [path for one in plan.results if (path := one.with_suffix(".print_results.txt")).is_file()]


def _is_representable(key: CriterionKey) -> bool:
    """Of calls the counts say how many were accepted, and what the sample came to."""
    target, criterion = key
    part = parse_address(target)
    if part is not None:
        return part.call is not None and part.argument is None and criterion in ROLL_UP_CRITERIA
    return key == ITEM_CORRECT or (target == RESPONSE and criterion in RESPONSE_SCORE_FIELDS)


def override_record(record: JsonObject, row: ScoredItem) -> JsonObject:
    """The record with the outcome, the accepted calls and the scores that people's verdicts come to."""
    found, calls = dict(record), read_reviewed_calls(row)
    if item_override(row) is True:
        found["message"] = "Success."
    elif item_override(row) is False:
        found["message"] = {"error_type": get_sample_error(row, calls), "content": COMMON_WORDS}
    counts = record.get("count_dict")
    if isinstance(counts, dict) and any(call.override is not None for call in calls):
        found["count_dict"] = counts | {"correct_call_num": _accepted(row)}
    scores = record.get("resp_eval")
    for criterion, name in RESPONSE_SCORE_FIELDS.items():
        value = row.overrides.get((RESPONSE, criterion))
        if isinstance(value, int):
            scores = dict(scores) if isinstance(scores, dict) else _make_missing_scores()
            before = scores.get(name)
            scores[name] = (before if isinstance(before, dict) else {}) | {"score": value}
            found["resp_eval"] = scores
    return found


def _accepted(row: ScoredItem) -> int:
    return count_accepted_calls(row, read_reviewed_calls(row)).correct


def _make_missing_scores() -> JsonObject:
    return {name: {"score": NO_SCORE, "reason": "not judged"} for name in RESPONSE_SCORE_FIELDS.values()}


def make_golden_template(run: Run, item: Item) -> JsonObject | None:  # noqa: ARG001
    """The golden calls of every step as a fix of them; None without any."""
    if not has_decoded_calls(item.golden):
        return None
    steps = sorted({call.step for call in item.golden})
    return {
        FIX_FIELD: [
            [{"name": call.name, "arguments": first_accepted_arguments(call)} for call in item.golden if call.step == step]
            for step in steps
        ]
    }


def recheck(run: Run, item: Item, fix: JsonObject, record: Any) -> bool | None:  # noqa: ARG001
    return None

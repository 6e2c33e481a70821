"""ComplexFuncBench items: a sample each, with its golden path, the model's path, and how every call was judged.

A sample's calls as people's verdicts leave them: accepted calls, golden calls, error word, wrong parameters.

What follows from a verdict on a call (`equivalent`, or `correct` of the call):

| said | call accuracy | the sample (rolls up by `Extra.needs`) |
|---|---|---|
| an accepted call is wrong | one accepted call fewer | fails, unless another accepted call answers its golden call |
| a refused call is right | one more, unless another answers its golden call | succeeds, if nothing else is missing |
| people differ | counts neither way, nor does its golden call | as those have it who overrule |

A verdict on the item moves success and error words; `completeness` and `correctness` of the response their mean only.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from fcreview.importers.common.jsonl import MAX_FILE_BYTES, JsonRecord, read_records
from fcreview.importers.common.records import first_question, read_function_docs, fill_safely
from fcreview.importers.complexfuncbench.calls import (
    CallVerdict,
    GoldenPath,
    verdicts_by_address,
    summarize_calls,
    sample_domain,
    read_golden_path,
    derive_call_verdicts,
    read_predicted_path,
    find_required_calls,
    count_compared_parameters,
    uncovered_golden_calls,
)
from fcreview.importers.complexfuncbench.log import EvaluationLog, parse_log
from fcreview.matching.diff import diff_call
from fcreview.matching.first_difference import find_first_difference
from fcreview.model.address import RESPONSE, call_address
from fcreview.model.decision import ROLL_UP_CRITERIA
from fcreview.model.item import ImportIssue, Item, CallPair, SourceName, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.model.metric import ScoredItem
from fcreview.run_plan import RunPlan
from fcreview.safe_files import read_file


@dataclass(slots=True)
class ReviewedCall:
    """One predicted call."""

    officially_accepted: bool | None
    """Whether the evaluator accepted it; None if nobody judged it."""
    golden: int | None
    error: str | None
    wrong_parameter_types: Mapping[str, str] = field(default_factory=dict)
    """Parameter -> type."""
    override: bool | None = None
    disputed: bool = False

    @property
    def accepted(self) -> bool | None:
        if self.disputed:
            return None
        return self.officially_accepted if self.override is None else self.override


def read_reviewed_calls(item: ScoredItem) -> list[ReviewedCall]:
    """The predicted calls, as far as the importer has put them into `more`."""
    calls = item.metadata.get("calls")
    return [_make_reviewed_call(item, address, call) for address, call in calls.items()] if isinstance(calls, dict) else []


def _make_reviewed_call(item: ScoredItem, address: str, call: Mapping[str, Any]) -> ReviewedCall:
    said = [item.overrides[address, criterion] for criterion in ROLL_UP_CRITERIA if (address, criterion) in item.overrides]
    people = next((value for value in said if isinstance(value, bool)), None)
    disputed = people is None and None in said
    return ReviewedCall(call["accepted"], call.get("golden"), call.get("error"), call.get("wrong") or {}, people, disputed)


@dataclass(slots=True)
class CallCounts:
    correct: int
    golden: int


def count_accepted_calls(item: ScoredItem, calls: list[ReviewedCall]) -> CallCounts:
    """The recorded numbers, moved by what people said of single calls.

    A repeated free call that the evaluator counted twice stays counted twice; what people accept counts once a golden
    call.
    """
    counts = item.metadata.get("counts")
    counts = counts if isinstance(counts, dict) else {}
    found = CallCounts(
        read_count(counts, "correct_call_num") if counts else sum(call.officially_accepted is True for call in calls),
        read_count(counts, "total_call_num") or item.n_golden,
    )
    covered = {call.golden for call in calls if call.officially_accepted and call.accepted}
    for call in calls:
        if call.officially_accepted and not call.accepted:
            found.correct -= 1
        elif call.accepted and not call.officially_accepted and call.golden is not None and call.golden not in covered:
            found.correct += 1
            covered.add(call.golden)
    open_ones = {call.golden for call in calls if call.disputed and call.golden is not None}
    found.golden -= len(open_ones - covered)
    return found


def read_count(counts: Mapping[str, Any], name: str) -> int:
    value = counts.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0


def get_sample_error(item: ScoredItem, calls: list[ReviewedCall]) -> str | None:
    """The word of a failed sample: the recorded one, else that of the first call that people refuse."""
    if item.valid is not False:
        return None
    refused = (call.error for call in calls if call.officially_accepted and call.accepted is False and call.error)
    return item.error_type or next(refused, None)


def list_wrong_parameter_types(calls: list[ReviewedCall]) -> Iterator[str]:
    """Types of the parameters in which refused calls differ from their golden calls."""
    for call in calls:
        if call.accepted is False:
            yield from call.wrong_parameter_types.values()


NOT_RECOMPUTED_NOTE = "success depended on live replies and a judge: it is imported, not recomputed"
JUDGE_NAME = "gpt-4o (as published)"


def read_items(plan: RunPlan) -> Iterator[Item | ImportIssue]:
    path = plan.results[0]
    issues: list[ImportIssue] = []
    samples = read_dataset(plan.data, issues)
    yield from issues
    logs = {file.stem: file for file in plan.logs}
    seen: set[str] = set()
    for row in read_records(path):
        if isinstance(row, ImportIssue):
            yield row
            continue
        name = row.value.get("id") if isinstance(row.value, dict) else None
        if not isinstance(name, str) or not isinstance(row.value.get("gen_convs"), list):
            yield ImportIssue(str(path), row.line, "a record without id or gen_convs", str(row.value)[:300])
            continue
        if name in seen:
            yield ImportIssue(str(path), row.line, f"{name} stands here twice; kept as {name}#{row.line}", item=name)
        item = _read_item(row, f"{name}#{row.line}" if name in seen else name, samples.get(name), logs.pop(name, None), path)
        yield _note_missing_sample(item, name, samples)
        seen.add(name)
    for name, file in logs.items():
        if name not in seen:
            yield _note_missing_sample(_read_item_without_record(name, file, samples.get(name)), name, samples)


def read_dataset(files: list[Path], issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    """The samples of all files by id; of two with one id the first counts."""
    found: dict[str, dict[str, Any]] = {}
    for file in files:
        for row in read_records(file):
            if isinstance(row, ImportIssue):
                issues.append(row)
                continue
            name = row.value.get("id") if isinstance(row.value, dict) else None
            if isinstance(name, str) and found.setdefault(name, row.value) != row.value:
                what = f"{name} stands in the dataset before, with other content: the first counts"
                issues.append(ImportIssue(str(file), row.line, what, item=name))
    return found


def _read_item(row: JsonRecord, name: str, known: dict[str, Any] | None, log_file: Path | None, path: Path) -> Item:
    record = row.value
    item = Item(
        id=name, category=sample_domain(record["id"]), file=str(path), line=row.line, offset=row.offset, length=row.length
    )
    item.prediction_hash = answer_hash(record["gen_convs"])
    item.golden_hash = answer_hash((known or {}).get("conversations")) if known else ""
    item.rule_note = NOT_RECOMPUTED_NOTE
    return fill_safely(item, lambda: _fill_item(item, record, known, _read_log(log_file, item)))


def _fill_item(item: Item, record: dict[str, Any], known: dict[str, Any] | None, log: EvaluationLog | None) -> None:
    _add_official_verdict(item, record)
    _add_response_scores(item, record)
    golden, ours = read_golden_path(known), read_predicted_path(record)
    item.messages, item.golden = ours.messages, golden.calls
    item.predicted = [call for step in ours.steps for call in step]
    item.functions = read_function_docs((known or {}).get("functions"))
    item.question = first_question(item.messages)
    item.n_steps = len(ours.steps)
    verdicts = derive_call_verdicts(ours, golden, item.functions, log)
    item.pairs = pair_calls(verdicts, golden)
    if known:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    by_address = verdicts_by_address(item.pairs, verdicts)
    item.verdicts += _make_call_verdicts(by_address)
    item.extra.compared_with = _compared_golden_calls(item.pairs, by_address)
    item.extra.needs = find_required_calls(golden, by_address, bool(item.official)) if known else None
    _add_metadata(item, record, golden, verdicts, log)
    _add_metric_inputs(item, by_address)


def _note_missing_sample(item: Item, name: str, dataset: dict[str, dict[str, Any]]) -> Item:
    """Says so where the dataset lacks the sample; that there is none at all is said of the run."""
    if name not in dataset:
        item.rule_note = "no golden answer: nothing to compare with"
        if dataset:
            what = f"{name} is not in the dataset: no golden calls, no functions"
            item.issues.append(ImportIssue(item.file, item.line, what, item=item.id))
    return item


def _read_item_without_record(name: str, file: Path, known: dict[str, Any] | None) -> Item:
    """A sample that only has a log: the run ended without an answer and nothing was stored."""
    item = Item(id=name, category=sample_domain(name), file=str(file), line=1)
    item.rule_note = NOT_RECOMPUTED_NOTE
    item.extra.metadata["outcome"] = "no record: the run ended without an answer, only a log was left"
    item.issues.append(
        ImportIssue(str(file), None, "a log without a result record: no official verdict", item=name, severity="notice")
    )
    return fill_safely(item, lambda: _fill_from_log(item, known, _read_log(file, item)))


def _fill_from_log(item: Item, known: dict[str, Any] | None, log: EvaluationLog | None) -> None:
    golden = read_golden_path(known)
    item.golden = golden.calls
    if log is not None:
        gen: list[dict[str, Any]] = [{"role": "user", "content": log.query}]
        for turn in log.turns:
            gen.append({"role": "assistant", "function_call": turn.predicted})
            gen.append({"role": "observation", "content": turn.observations})
        ours = read_predicted_path({"gen_convs": gen})
        item.prediction_hash = answer_hash(gen)
        item.messages, item.predicted = ours.messages, [call for step in ours.steps for call in step]
        verdicts = derive_call_verdicts(ours, golden, read_function_docs((known or {}).get("functions")), log)
        item.pairs = pair_calls(verdicts, golden)
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
        item.issues.append(ImportIssue(str(file), None, f"cannot be read: {get_sample_error.strerror}", item=item.id))
        return None
    item.issues += [ImportIssue(str(file), None, problem, item=item.id, severity="notice") for problem in log.problems]
    return log


def pair_calls(verdicts: list[CallVerdict], golden: GoldenPath) -> list[CallPair]:
    """Golden order; a free call that was made again, and calls nobody judged, stand after as calls of their own."""
    pairs: dict[int, CallPair] = {}
    extra: list[CallPair] = []
    for verdict in verdicts:
        call, partner = verdict.predicted, verdict.golden
        if partner is None or (partner.index in pairs and not (verdict.ok and pairs[partner.index].state == "!")):
            extra.append(CallPair(0, None, call.index, call.name, "+"))
            continue
        if partner.index in pairs:
            before = pairs[partner.index]
            extra.append(CallPair(0, None, before.predicted, before.name, "+"))
        diff = diff_call(partner, call)
        state = "=" if not diff else "~" if all(d.state == "~" for d in diff) else "!"
        pairs[partner.index] = CallPair(0, partner.index, call.index, partner.name, state, diff)  # type: ignore[arg-type]
    for call in golden.calls:
        pairs.setdefault(call.index, CallPair(0, call.index, None, call.name, "-"))
    ordered = [pairs[index] for index in sorted(pairs)]
    return ordered + sorted(extra, key=lambda pair: pair.predicted or 0)


def _compared_golden_calls(pairs: list[CallPair], verdicts: dict[str, CallVerdict]) -> dict[str, int] | None:
    """The golden calls of refused calls whose partner was later answered by another call."""
    extra = {call_address(0, at) for at, pair in enumerate(pairs) if pair.golden is None}
    return {at: one.golden.index for at, one in verdicts.items() if at in extra and one.golden is not None} or None


def _make_call_verdicts(verdicts: dict[str, CallVerdict]) -> list[Verdict]:
    found = []
    for address, one in verdicts.items():
        judged = one.tier == "judge"
        by = JUDGE_NAME if judged else f"{one.tier} tier" + (", partner guessed" if one.is_partner_guessed else "")
        source: SourceName = "judge" if judged else "official"
        found.append(Verdict(source, one.ok, address, "equivalent", one.error_type, one.rationale, by))
    return found


def _add_metric_inputs(item: Item, verdicts: dict[str, CallVerdict]) -> None:
    item.extra.metadata["calls"] = summarize_calls(verdicts)
    item.extra.metadata["parameters compared"] = count_compared_parameters(list(verdicts.values()))


def _add_official_verdict(item: Item, record: dict[str, Any]) -> None:
    message = record.get("message")
    item.official = message == "Success." if isinstance(message, str) else False
    entries = message if isinstance(message, list) else [message] if isinstance(message, dict) else []
    if not item.official:
        first = entries[0] if entries and isinstance(entries[0], dict) else {}
        word = first.get("error_type", "unknown")
        item.error_type = None if word is None else str(word)  # null: people said so, and nobody named one
    text = (
        message
        if isinstance(message, str)
        else "\n".join(f"{e.get('error_type')}: {e.get('content')}" for e in entries if isinstance(e, dict))
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
        text = f"{reason or ''}" + ("" if value is not None else f" (recorded score {score}: no usable verdict)")
        item.verdicts.append(Verdict("judge", value, RESPONSE, criterion, None, text.strip() or None, JUDGE_NAME))


def _add_metadata(
    item: Item, record: dict[str, Any], golden: GoldenPath, verdicts: list[CallVerdict], log: EvaluationLog | None
) -> None:
    counts = record.get("count_dict")
    if isinstance(counts, dict):
        item.extra.metadata["counts"] = counts
        item.extra.metadata["steps"] = (
            f"{counts.get('real_turn_num')} taken, {golden.steps or counts.get('total_turn_num')} on the golden path"
        )
    left = uncovered_golden_calls(golden, verdicts)
    if left:
        item.extra.metadata["golden calls not covered"] = [call.name for call in left]
    corrections = sum(verdict.tier == "format" for verdict in verdicts)
    if corrections:
        item.extra.metadata["format errors"] = corrections
    if log is not None and log.attempts > 1:
        item.extra.metadata["tries in the log"] = log.attempts
    if log is not None and log.surplus_call:
        item.extra.metadata["surplus call"] = log.surplus_call

"""Read ComplexFuncBench items, one for each sample."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

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
from fcreview.model.item import CallPair, ImportIssue, Item, ReadRecord, SourceName, Verdict
from fcreview.model.json_value import answer_hash
from fcreview.model.verdict import EQUIVALENT
from fcreview.run_plan import RunPlan
from fcreview.safe_files import read_file

JsonObject = dict[str, Any]
NOT_RECOMPUTED_NOTE = "success depends on live API responses and an LLM judge"
JUDGE_NAME = "gpt-4o (as published)"
"""Name of the judge in the released code. The files of a run do not name the judge."""


def read_items(plan: RunPlan) -> Iterator[ReadRecord]:
    """Yield the items of a run: one for each result record, and one for each log without a
    record.
    """
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
        name = as_object(row.value).get("id")
        if not isinstance(name, str) or not isinstance(row.value.get("gen_convs"), list):
            what = "the record has no id or no gen_convs and was skipped"
            yield ImportIssue(str(path), row.line, what=what, raw=str(row.value)[:300])
            continue
        item_id = f"{name}#{row.line}" if name in seen_ids else name
        if item_id != name:
            text = f"{name} occurs more than once. This record is imported as {item_id}."
            yield ImportIssue(str(path), row.line, what=text, item=name)
        item = _read_item(row, item_id, samples.get(name), logs.pop(name, None), path)
        _report_missing_sample(item, name, samples)
        yield item
        seen_ids.add(name)
    for name, file in logs.items():
        if name not in seen_ids:
            seen_ids.add(name)
            item = _read_item_from_log(name, file, samples.get(name))
            _report_missing_sample(item, name, samples)
            yield item
    if plan.data and (n_missing := len(seen_ids - samples.keys())):
        yield make_missing_records_issue(plan.data[0], "sample", n_missing, len(seen_ids))
    yield from compare_with_dataset(seen_ids, samples, get_domain)


def get_domain(sample_id: str) -> str:
    """Return the domain of a sample: `Car-Rental` for `Car-Rental-12`."""
    return sample_id.rpartition("-")[0]


def read_dataset(files: list[Path], issues: list[ImportIssue]) -> dict[str, dict[str, Any]]:
    """Read the samples of all dataset files by id.

    If an id occurs more than once, the first sample counts.
    """
    dataset: dict[str, dict[str, Any]] = {}
    for file in files:
        for row in read_records(file):
            if isinstance(row, ImportIssue):
                issues.append(row)
                continue
            name = as_object(row.value).get("id")
            if isinstance(name, str) and dataset.setdefault(name, row.value) != row.value:
                text = (
                    f"{name} occurs more than once in the dataset, with different content. The"
                    " first one is used."
                )
                issues.append(ImportIssue(str(file), row.line, what=text, item=name))
    return dataset


def _read_item(
    row: JsonRecord,
    item_id: str,
    sample: dict[str, Any] | None,
    log_file: Path | None,
    result_file: Path,
) -> Item:
    record = row.value
    category = get_domain(record["id"])
    item = Item(
        item_id,
        category,
        file=str(result_file),
        line=row.line,
        offset=row.offset,
        length=row.length,
    )
    item.prediction_hash = answer_hash(record["gen_convs"])
    item.golden_hash = answer_hash((sample or {}).get("conversations")) if sample else ""
    item.rule_note = NOT_RECOMPUTED_NOTE
    return fill_safely(item, lambda: _fill_item(item, record, sample, _read_log(log_file, item)))


def _fill_item(
    item: Item, record: dict[str, Any], sample: dict[str, Any] | None, log: EvaluationLog | None
) -> None:
    _add_official_verdict(item, record)
    _add_response_scores(item, record)
    golden_path = checker.parse_golden_path(sample)
    item.golden, item.functions = (
        golden_path.calls,
        read_function_docs((sample or {}).get("functions")),
    )
    by_address = _fill_calls_and_verdicts(item, record, golden_path, item.functions, log)
    item.n_steps = len({call.step for call in item.predicted})
    if sample:
        find_first_difference(item.pairs, item.golden, item.predicted).apply_to(item)
    unpaired = {
        call_address(0, position) for position, pair in enumerate(item.pairs) if pair.golden is None
    }
    compared = {
        name: each.golden.index
        for name, each in by_address.items()
        if each.golden and name in unpaired
    }
    item.extra.compared_with = compared or None
    if sample:
        item.extra.needs = list_addresses_by_required_call(
            golden_path, by_address, bool(item.official)
        )
    _add_metadata(item, record, golden_path, list(by_address.values()), log)
    _store_metric_inputs(item, by_address)
    if sample:
        add_decisive_call(item, only_effect_counts=False)
    apply_incident(item, find_record_incident(record))


def _fill_calls_and_verdicts(
    item: Item,
    record: JsonObject,
    golden_path: GoldenPath,
    function_docs: list[JsonObject],
    log: EvaluationLog | None,
) -> dict[str, CallVerdict]:
    """Add the conversation, the call pairs and the verdicts on calls to an item.

    Return the verdicts by address.
    """
    path = checker.parse_predicted_path(record)
    item.messages, item.predicted = path.messages, [call for step in path.steps for call in step]
    item.question = first_question(item.messages)
    verdicts = checker.derive_call_verdicts(path, golden_path, function_docs, log)
    item.pairs = pair_calls(verdicts, golden_path)
    by_address = checker.index_verdicts_by_address(item.pairs, verdicts)
    for address, each in by_address.items():
        source: SourceName = "judge" if each.tier == "judge" else "official"
        tier = f"{each.tier} tier" + (", golden call guessed" if each.is_golden_guessed else "")
        by = JUDGE_NAME if source == "judge" else tier
        item.verdicts.append(
            Verdict(
                source,
                each.ok,
                target=address,
                criterion=EQUIVALENT,
                error_type=each.error_type,
                rationale=each.rationale,
                by=by,
            )
        )
    return by_address


def _report_missing_sample(item: Item, sample_id: str, samples: dict[str, JsonObject]) -> None:
    """Add a note and an issue to an item that is not in the dataset.

    If there is no dataset, add only the note.
    """
    if sample_id not in samples:
        item.rule_note = "the dataset does not contain this sample"
        if samples:
            add_issue(
                item,
                f"{sample_id} is not in the dataset, so its golden calls and functions are missing",
            )


def _read_item_from_log(sample_id: str, log_file: Path, sample: dict[str, Any] | None) -> Item:
    """Read an item from its log.

    The evaluator writes no result record for a sample that ends without an answer.
    """
    item = Item(id=sample_id, category=sample_id.rpartition("-")[0], file=str(log_file), line=1)
    item.rule_note = NOT_RECOMPUTED_NOTE
    item.extra.metadata["outcome"] = "no result record, because the run ended without an answer"
    what = "this log has no result record, so the sample has no official verdict"
    add_issue(item, what, str(log_file), severity="notice")
    return fill_safely(item, lambda: _fill_item_from_log(item, sample, _read_log(log_file, item)))


def _fill_item_from_log(
    item: Item, sample: dict[str, Any] | None, log: EvaluationLog | None
) -> None:
    golden_path = checker.parse_golden_path(sample)
    item.golden = golden_path.calls
    if log is not None:
        dialogue: list[dict[str, Any]] = [{"role": "user", "content": log.query}]
        for turn in log.turns:
            dialogue.append({"role": "assistant", "function_call": turn.predicted})
            dialogue.append({"role": "observation", "content": turn.observations})
        item.prediction_hash = answer_hash(dialogue)
        function_docs = read_function_docs((sample or {}).get("functions"))
        by_address = _fill_calls_and_verdicts(
            item, {"gen_convs": dialogue}, golden_path, function_docs, log
        )
        _store_metric_inputs(item, by_address)
    apply_incident(item, find_log_incident(log))


def _read_log(log_file: Path | None, item: Item) -> EvaluationLog | None:
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
    """Pair predicted calls with golden calls, in golden order.

    Predicted calls without a golden call come last.
    """
    pairs: dict[int, CallPair] = {}
    unpaired: list[CallPair] = []
    for verdict in verdicts:
        call, golden = verdict.predicted, verdict.golden
        if golden is None or (
            golden.index in pairs and not (verdict.ok and pairs[golden.index].state == "!")
        ):
            unpaired.append(
                CallPair(0, golden=None, predicted=call.index, name=call.name, state="+")
            )
            continue
        if golden.index in pairs:
            replaced = pairs[golden.index]
            unpaired.append(
                CallPair(
                    0, golden=None, predicted=replaced.predicted, name=replaced.name, state="+"
                )
            )
        diff = diff_call(golden, call)
        state = "=" if not diff else "~" if all(each.state == "~" for each in diff) else "!"
        pairs[golden.index] = CallPair(
            0,
            golden=golden.index,
            predicted=call.index,
            name=golden.name,
            state=state,  # type: ignore[arg-type]
            diff=diff,
        )
    for call in golden_path.calls:
        pairs.setdefault(
            call.index, CallPair(0, golden=call.index, predicted=None, name=call.name, state="-")
        )
    ordered = [pairs[index] for index in sorted(pairs)]
    return ordered + sorted(unpaired, key=lambda pair: pair.predicted or 0)


def _store_metric_inputs(item: Item, verdicts_by_address: dict[str, CallVerdict]) -> None:
    calls = {address: summarize_call(verdict) for address, verdict in verdicts_by_address.items()}
    item.extra.metadata["calls"] = calls
    item.extra.metadata["parameters compared"] = count_compared_parameters(
        list(verdicts_by_address.values())
    )


def _add_official_verdict(item: Item, record: dict[str, Any]) -> None:
    message = record.get("message")
    item.official = message == "Success." if isinstance(message, str) else False
    entries = [message] if isinstance(message, dict) else as_list(message)
    if not item.official:
        error_type = as_object(next(iter(entries), None)).get("error_type", "unknown")
        # In an exported override without an error type, the error type is null.
        item.error_type = None if error_type is None else str(error_type)
    lines = (f"{each.get('error_type')}: {each.get('content')}" for each in list_objects(entries))
    text = message if isinstance(message, str) else "\n".join(lines)
    item.verdicts.append(
        Verdict("official", item.official, error_type=item.error_type, rationale=text, by="message")
    )


def _add_response_scores(item: Item, record: dict[str, Any]) -> None:
    evaluation = as_object(record.get("resp_eval"))
    for key, criterion in (("complete", "completeness"), ("correct", "correctness")):
        entry = evaluation.get(key)
        if not isinstance(entry, dict):
            continue
        failure = find_judge_failure(entry.get("score"), entry.get("reason"))
        if failure is not None:
            add_failed_verdict(
                item, "judge", failure=failure, by=JUDGE_NAME, target=RESPONSE, criterion=criterion
            )
            continue
        text = f"{entry.get('reason') or ''}".strip() or None
        item.verdicts.append(
            Verdict(
                "judge",
                entry["score"],
                target=RESPONSE,
                criterion=criterion,
                error_type=None,
                rationale=text,
                by=JUDGE_NAME,
            )
        )


def _add_metadata(
    item: Item,
    record: dict[str, Any],
    golden_path: GoldenPath,
    verdicts: list[CallVerdict],
    log: EvaluationLog | None,
) -> None:
    counts = record.get("count_dict")
    if isinstance(counts, dict):
        item.extra.metadata["counts"] = counts
        golden_steps = golden_path.steps or counts.get("total_turn_num")
        item.extra.metadata["steps"] = (
            f"{counts.get('real_turn_num')} model steps, {golden_steps} golden steps"
        )
    if missing_calls := checker.find_missing_golden_calls(golden_path, verdicts):
        item.extra.metadata["golden calls not covered"] = [call.name for call in missing_calls]
    if n_format_errors := sum(verdict.tier == "format" for verdict in verdicts):
        item.extra.metadata["format errors"] = n_format_errors
    if log is not None and log.attempts > 1:
        item.extra.metadata["attempts in the log"] = log.attempts
    if log is not None and log.surplus_call:
        item.extra.metadata["surplus call"] = log.surplus_call


def list_addresses_by_required_call(
    golden_path: GoldenPath, verdicts: Mapping[str, CallVerdict], is_success: bool
) -> list[list[str]]:
    """Return the value of `Extra.needs`: for each required golden call, the addresses of the calls
    compared with it.

    If the sample succeeded, the golden calls with an accepted call are required. If it failed, all
    golden calls are required, except optional ones without an accepted call. If it failed although
    every required call was accepted, the result ends with an empty list, so that no verdict on a
    call makes the sample pass.
    """
    required, answered = list[list[str]](), list[list[str]]()
    for call in golden_path.calls:
        answers = [address for address, verdict in verdicts.items() if verdict.golden is call]
        accepted = any(verdicts[address].ok for address in answers)
        required += [answers] if accepted or not checker.is_optional_call(call) else []
        answered += [answers] if accepted else []
    if is_success:
        return answered
    return [*required, []] if len(answered) == len(required) else required

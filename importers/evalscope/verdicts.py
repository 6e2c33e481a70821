"""Add EvalScope's verdict to items, and explain why the recomputed verdict differs from it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from fcreview.importers.common.incidents import add_failed_verdict
from fcreview.importers.common.json_text import make_excerpt
from fcreview.importers.common.records import add_issue, as_list, as_object, is_number
from fcreview.importers.evalscope import bfcl
from fcreview.importers.evalscope.bfcl import ScoreError
from fcreview.importers.evalscope.conversations import parse_json_or_none
from fcreview.importers.evalscope.leaderboard import CRITERIA, MAIN_SCORE, OTHER_VALUES, REWARD
from fcreview.importers.evalscope.samples import JsonObject, Sample
from fcreview.model.address import ITEM
from fcreview.model.item import Item, Verdict
from fcreview.model.json_value import canonical_json
from fcreview.model.review import CORRECT

BY = "EvalScope"
USABLE_STATUSES = ("success", "fallback", "degraded")
"""Statuses of scores that count. Samples with any other one are left out of every mean."""
KNOWN_STATUSES = (
    *USABLE_STATUSES,
    "transport_error",
    "parse_error",
    "invalid_session",
    "excluded",
)
DECIDING_VALUES = {"mcp_atlas": "pass"}
"""Benchmark -> value that decides the verdict, if it is not the main score. The main score of
MCP-Atlas is the coverage, and `pass` is whether it reaches the threshold."""
BENCHMARKS_OF_SHARES = ("toolathlon",)
"""Benchmarks whose main score is a share of several tasks, so that even 0 and 1 are no verdicts."""
CAUSE = "cause of the difference"
"""Metadata key of the reason why the official and the recomputed verdict differ."""
MAX_EXPLANATION = 4_000
MAX_DIFFERENCE = 300
VALUES: Mapping[str, tuple[str, ...]] = {
    "acebench": ("acc",),
    "bfcl_v3": ("acc",),
    "bfcl_v4": ("acc",),
    "general_fc": (
        "passed",
        "finish_reason_tool_call",
        "successful_tool_call",
        "should_call_tool",
    ),
    "mcp_atlas": ("coverage_score", "pass"),
    "tau2_bench": ("acc",),
    "tau3_bench": ("acc",),
    "tau_bench": ("acc",),
    "toolathlon": ("acc",),
}
"""Benchmark -> values that each usable score has."""
FIRST_VALUES: Mapping[str, str] = {
    "k2_verifier": "finish_reason_tool_call",
    "tool_bench": "F1",
    **{benchmark: names[0] for benchmark, names in VALUES.items()},
}
"""Benchmark -> value that EvalScope writes first, which decides without `main_score_name`."""
OPTIONAL_VALUES: Mapping[str, tuple[str, ...]] = {"acebench": ("process_acc",)}
DETAILS: Mapping[str, Mapping[str, tuple[type, ...]]] = {
    "acebench": {"error": (list,), "error_type": (str,), "predicted_calls": (list, type(None))},
    "bfcl_v3": {"raw_score_result": (dict,)},
    "bfcl_v4": {"error": (str,), "error_type": (str,), "error_message": (str,)},
    "general_fc": {"error_reason": (str,)},
}
"""Benchmark -> fields of `score.metadata` that EvalScope always writes, with their types."""
ERROR_TYPES = {
    "Schema validation failed": "schema_validation",
    "No schema found": "unknown_tool",
    "Model inference error": "inference_error",
}
"""Beginning of `error_reason` of general_fc -> error type."""


def find_official_verdict(sample: Sample, benchmark: str) -> bool | None:
    """Return EvalScope's verdict: the deciding value if it is 0, 1, true or false."""
    values = as_object(sample.score.get("value"))
    if get_status(sample) not in USABLE_STATUSES or benchmark in BENCHMARKS_OF_SHARES:
        return None
    name = find_deciding_name(sample, benchmark)
    return None if name is None else _to_verdict(values.get(name))


def get_status(sample: Sample) -> str:
    """Return the status of the score. Early writers have none; then the score counts."""
    status = sample.score.get("status")
    return status if isinstance(status, str) else "success"


def find_deciding_name(sample: Sample, benchmark: str) -> str | None:
    """Return the name of the value that decides. None if the sample does not show which it is.

    It is the first of these that the sample has:

    1. the value that always decides in this benchmark
    2. the main score that the sample names
    3. the first value of the sample. Programs that convert files may sort the keys, so that another
       value comes first. The first value is then only known for some benchmarks.
    """
    values = as_object(sample.score.get("value"))
    for name in (DECIDING_VALUES.get(benchmark), sample.score.get("main_score_name")):
        if isinstance(name, str) and name in values:
            return name
    if len(values) > 1 and has_sorted_keys(sample):
        first_value = FIRST_VALUES.get(benchmark)
        return first_value if first_value in values else None
    return next(iter(values), None)


def has_sorted_keys(sample: Sample) -> bool:
    """Whether the score has its keys in alphabetical order. EvalScope begins with `value`."""
    names = list(sample.score)
    return names == sorted(names)


def _to_verdict(value: Any) -> bool | None:
    if isinstance(value, bool):
        return value
    if is_number(value) and value in (0, 1):
        return bool(value)
    return None


def add_official_verdict(item: Item, sample: Sample, benchmark: str) -> None:
    """Add what EvalScope's score says about an item: the verdict, the other values, the error type
    and the explanation.

    A score whose status says that the scoring failed gives no verdict.
    """
    if sample.review is None:
        return
    status = get_status(sample)
    if status not in KNOWN_STATUSES:
        add_issue(item, f"the status {status[:60]!r} of the score is unknown")
    if status not in USABLE_STATUSES:
        _replace_official_verdict(item, None)
        add_failed_verdict(item, "official", failure=_describe_failure(sample), by=BY)
        return

    _report_malformed_values(item, sample, benchmark)
    _report_unexpected_names(item, sample, benchmark)
    official = find_official_verdict(sample, benchmark)
    _replace_official_verdict(item, official)
    if official is not None:
        _add_deciding_verdict(item, sample, benchmark, official)
    _add_values(item, sample, benchmark)


def _add_values(item: Item, sample: Sample, benchmark: str) -> None:
    """Add the values of EvalScope's score that are not the verdict on the item.

    Values that people can judge become verdicts with a criterion of their own. The others become
    metadata.
    """
    deciding_name = find_deciding_name(sample, benchmark)
    other_values: JsonObject = {}
    for name, value in as_object(sample.score.get("value")).items():
        is_main = name == deciding_name
        is_verdict_on_item = is_main and item.official is not None
        if is_verdict_on_item or not _is_figure(value):
            continue
        criterion = _find_criterion(name, value, is_main=is_main)
        if criterion is None:
            other_values[name] = value
        else:
            item.verdicts.append(Verdict("official", value, criterion=criterion, by=BY))

    if deciding_name is not None:
        item.extra.metadata[MAIN_SCORE] = deciding_name
    if other_values:
        item.extra.metadata[OTHER_VALUES] = other_values


def _find_criterion(name: str, value: float, *, is_main: bool) -> str | None:
    """Return the criterion on which a value of the score is a verdict, or None if it is on none.

    The main value of a score without a verdict is a reward, if it is from 0 to 1.
    """
    criterion = CRITERIA.get(name)
    if criterion is None and is_main and 0 <= value <= 1:
        return REWARD
    return criterion


def _is_figure(value: Any) -> bool:
    return isinstance(value, bool) or is_number(value)


def _add_deciding_verdict(item: Item, sample: Sample, benchmark: str, official: bool) -> None:
    """Add EvalScope's verdict on the item, with the error type and the explanation of a failure.

    For tau-bench, EvalScope states no error type. The one that the importer of tau-bench found is
    kept.
    """
    verdict = Verdict("official", official, by=BY)
    item.verdicts.append(verdict)
    if official:
        item.error_type = None
        return

    error = _read_error(sample, benchmark)
    item.error_type = error.type or item.error_type
    verdict.error_type = item.error_type
    if error.message is None:
        return
    verdict.rationale = make_excerpt(error.message, MAX_EXPLANATION)
    # Only if the comparison of the calls found no difference.
    if item.first_difference is None:
        line = " ".join(error.message.split())
        item.first_difference = make_excerpt(line, MAX_DIFFERENCE)


def _replace_official_verdict(item: Item, official: bool | None) -> None:
    """Remove the official verdict that the benchmark's importer read from its data, because
    EvalScope's score is the official one. If the two differ, add an issue.
    """
    found = item.official
    if found is not None and official is not None and found != official:
        what = f"the reward of the benchmark is {found}, but EvalScope's score is {official}"
        add_issue(item, what)
    item.official = official
    item.verdicts = [verdict for verdict in item.verdicts if not _is_official(verdict)]


def _is_official(verdict: Verdict) -> bool:
    """Whether a verdict is the official one on the whole item."""
    place = (verdict.source, verdict.target, verdict.criterion)
    return place == ("official", ITEM, CORRECT)


def _report_malformed_values(item: Item, sample: Sample, benchmark: str) -> None:
    """Add an issue for each reason why values of a sample's score cannot be verdicts."""
    values = as_object(sample.score.get("value"))
    main_name = sample.score.get("main_score_name")
    if main_name is not None and main_name not in values:
        add_issue(item, f"main_score_name names no value of the score: {str(main_name)[:60]}")
    if not values:
        add_issue(item, "the score has no value, so there is no official verdict")
    elif find_deciding_name(sample, benchmark) is None:
        what = (
            "the keys of the record are sorted and main_score_name is empty, so it is not known"
            f" which value decides: {', '.join(values)[:200]}. There is no official verdict"
        )
        add_issue(item, what)
    for name, value in values.items():
        if not _is_figure(value):
            add_issue(item, f"the value {name[:60]} of the score is not a number")


def _report_unexpected_names(item: Item, sample: Sample, benchmark: str) -> None:
    """Add an issue for each value of the score that the benchmark should have and the score lacks,
    and for each value that is unknown.

    New versions of EvalScope can rename values. This shows that fcreview must learn them.
    """
    if benchmark not in VALUES:
        return
    values = as_object(sample.score.get("value"))
    required_names = list(VALUES[benchmark])
    known_names = [*required_names, *OPTIONAL_VALUES.get(benchmark, ())]
    # ACEBench's values of the process exist only for agents, and there always.
    if benchmark == "acebench" and item.category.startswith("agent_"):
        required_names = known_names

    for name in required_names:
        if name not in values:
            add_issue(item, f"the score has no value {name}")
    for name in values:
        if name not in known_names:
            add_issue(item, f"the value {name[:60]} of the score is unknown")
    _report_unexpected_details(item, sample, benchmark)


def _report_unexpected_details(item: Item, sample: Sample, benchmark: str) -> None:
    """Add an issue for each detail of the score that the benchmark's verdicts need and that is
    missing or has another type.
    """
    details = as_object(sample.score.get("metadata"))
    if benchmark.startswith("tau") and not details.keys() & {"task_result", "error"}:
        add_issue(item, "the metadata of the score have neither task_result nor error")
    for name, types in DETAILS.get(benchmark, {}).items():
        if name not in details:
            add_issue(item, f"the metadata of the score have no field {name}")
        elif not isinstance(details[name], types):
            add_issue(item, f"{name} in the metadata of the score has an unexpected type")


def _describe_failure(sample: Sample) -> str:
    """Say why a judge gave no verdict on a sample."""
    summary = as_object(sample.score.get("judge_summary") or sample.score.get("judge_detail"))
    error = summary.get("error") or sample.score.get("explanation")
    parts = [get_status(sample)]
    if isinstance(error, str) and error:
        parts.append(error)
    return ": ".join(parts)


# -- error types and explanations


def _read_error(sample: Sample, benchmark: str) -> ScoreError:
    """Return the error type and the explanation of a failing score. Each benchmark has them in
    other fields.
    """
    if benchmark in bfcl.VERSIONS:
        return bfcl.read_error(sample.score)
    details = as_object(sample.score.get("metadata"))
    reason = details.get("error_reason")
    if isinstance(reason, str):
        return _read_decision_error(sample, reason)

    error_type = _get_text(details, "error_type") or None
    errors = "\n".join(_list_texts(details.get("error")))
    if errors:
        return ScoreError(error_type, errors)
    return ScoreError(error_type, _get_text(sample.score, "explanation"))


def _get_text(fields: JsonObject, name: str) -> str | None:
    value = fields.get(name)
    return value if isinstance(value, str) else None


def _read_decision_error(sample: Sample, reason: str) -> ScoreError:
    """Return the error of an item of general_fc. Without a reason, the decision was wrong."""
    for beginning, error_type in ERROR_TYPES.items():
        if reason.startswith(beginning):
            return ScoreError(error_type, reason)
    if reason:
        return ScoreError("invalid_call", reason)
    if sample.metadata.get("should_call_tool") is True:
        stop_reason = sample.choice.get("stop_reason")
        message = f"no call is counted, because the stop reason is {stop_reason}"
        return ScoreError("no_tool_call", message)
    return ScoreError("unexpected_tool_call", "a tool is called, although no call is expected")


def _list_texts(value: Any) -> Iterator[str]:
    """Yield the texts in a value, which may be a text or nested lists."""
    if isinstance(value, str):
        yield value
    for element in as_list(value):
        yield from _list_texts(element)


# -- differences


def explain_difference(item: Item, sample: Sample) -> None:
    """If the recomputed verdict differs from EvalScope's, add the cause to the item's metadata and
    to the rationale of the recomputed verdict.
    """
    if item.official is None or item.rule is None or item.official == item.rule:
        return
    cause = _find_cause(item, sample)
    item.extra.metadata[CAUSE] = cause
    for verdict in item.verdicts:
        if (verdict.source, verdict.target, verdict.criterion) == ("rule", ITEM, CORRECT):
            rationale = verdict.rationale or ""
            verdict.rationale = f"{rationale}\nEvalScope's verdict differs: {cause}".lstrip()


def _find_cause(item: Item, sample: Sample) -> str:
    """Say why the verdict of EvalScope and the recomputed one differ."""
    if item.has_incident:
        return "API error: the request failed, and EvalScope scored the text of the failure"
    if _has_other_reply(sample):
        return "reply: the review quotes another reply than the prediction contains"
    if _has_other_golden_answer(sample):
        return "golden version: the review was made with another golden answer"
    if _has_other_calls(item, sample):
        return "decoder: EvalScope and fcreview read different calls in the reply"
    return "checker: EvalScope and fcreview check the same calls differently"


def _has_other_reply(sample: Sample) -> bool:
    if sample.prediction is None or sample.scored_text is None:
        return False
    return sample.reply_text != sample.scored_text


def has_other_reply(sample: Sample) -> bool:
    """Whether the review quotes another reply than the prediction contains.

    Only BFCL and ACEBench quote the reply. Other adapters quote the conversation.
    """
    return sample.review is not None and _has_other_reply(sample)


def _has_other_golden_answer(sample: Sample) -> bool:
    """Whether the target of the review is not the golden answer of the metadata."""
    targets = as_list(sample.review_fields.get("target"))
    if not targets or not isinstance(targets[0], str):
        return False
    target = parse_json_or_none(targets[0])
    golden = sample.metadata.get("ground_truth")
    # The target of ACEBench has further fields.
    if isinstance(target, dict) and "ground_truth" in target:
        target = target["ground_truth"]
    return target is not None and canonical_json(target) != canonical_json(golden)


def _has_other_calls(item: Item, sample: Sample) -> bool:
    """Whether EvalScope read other calls in the reply, or only one of both could read it."""
    metadata = as_object(sample.score.get("metadata"))
    predicted = metadata.get("predicted_calls")
    if isinstance(predicted, list):
        return _strip_spaces(predicted) != _strip_spaces(_list_calls(item))
    # These types of errors, of EvalScope or of fcreview, mean that the reply could not be read.
    error_types = (item.error_type or "", item.rule_error_type or "")
    return any("decoder" in name or "wrong_output_format" in name for name in error_types)


def _strip_spaces(value: Any) -> str:
    """Return a value as JSON without spaces, which ACEBench's checker removes from replies."""
    return "".join(canonical_json(value).decode().split())


def _list_calls(item: Item) -> list[JsonObject]:
    """Return the predicted calls in the form of EvalScope's `predicted_calls`."""
    return [{call.name: call.arguments} for call in item.predicted]

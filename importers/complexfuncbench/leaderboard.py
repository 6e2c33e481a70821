"""Compute ComplexFuncBench's metrics.

There are three groups of metrics:

* the output of the released `print_results.py` (commit c37b284), whose success rates have fixed
  denominators
* the same metrics, but with success rates over the existing records
* the paper's error analysis (Figures 4 and 5) and distribution of steps (Figure 6)

An override on a call (criterion `equivalent`, or `correct` of the call) has these effects, which
for the sample follow from `Extra.needs`:

* If an accepted call is wrong, one call less is accepted in call accuracy. The sample fails if the
  golden call has no other accepted call.
* If a rejected call is correct, one call more is accepted in call accuracy, unless another call was
  accepted for its golden call. The sample passes if no golden call is missing.

A golden call is missing if it is required and has no accepted call.

If a call has verdicts on both criteria, `equivalent` counts for call accuracy. If annotators
disagree, the automatic verdict counts.

A verdict on the item changes the success rate and the error types. `completeness` and `correctness`
of the response change only their means.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fcreview.importers.common.records import as_object, is_integer
from fcreview.importers.complexfuncbench.checker import (
    CallVerdict,
    call_to_json,
    find_call_error,
    is_equal_value,
)
from fcreview.importers.complexfuncbench.log import JsonCall
from fcreview.model.item import Run
from fcreview.model.metric import Metric, MetricUnit, ScoredItem
from fcreview.model.verdict import EQUIVALENT

SAMPLES_PER_DOMAIN = {
    "Hotels": 150,
    "Flights": 150,
    "Car-Rental": 150,
    "Attraction": 150,
    "Cross": 400,
}
"""Domain -> number of samples, the fixed denominator of the printed success rate even if records
are missing.
"""
N_SAMPLES = sum(SAMPLES_PER_DOMAIN.values())
DEFAULT_SAMPLES_PER_DOMAIN = 150


@dataclass(slots=True)
class ReviewedCall:
    """A predicted call with the evaluator's verdict and its override."""

    officially_accepted: bool | None
    """Whether the evaluator accepted the call, or None if it did not judge the call."""
    golden: int | None
    """Number, from 1, of the golden call that the evaluator compared it with, or None without
    such a call.
    """
    error: str | None
    """The evaluator's error type."""
    wrong_parameter_types: Mapping[str, str] = field(default_factory=dict)
    """Parameter that differs from the golden call -> the paper's parameter type."""
    override: bool | None = None
    """Reviewed verdict that contradicts the official one, or None."""

    @property
    def accepted(self) -> bool | None:
        """Effective verdict on the call, or None without a verdict."""
        return self.officially_accepted if self.override is None else self.override


def list_reviewed_calls(item: ScoredItem) -> list[ReviewedCall]:
    """Return the predicted calls of a sample with the reviews of them.

    The importer stored a summary of each call in the item's metadata, by its address, such as
    `turn:1/call:2`.
    """
    calls = []
    for address, summary in as_object(item.metadata.get("calls")).items():
        # A review of the whole sample can also decide the verdict on a call.
        derived = item.derive_verdict("complexfuncbench", address, EQUIVALENT)
        call = ReviewedCall(
            summary["accepted"],
            golden=summary.get("golden"),
            error=summary.get("error"),
            wrong_parameter_types=summary.get("wrong") or {},
            override=item.overrides.get((address, EQUIVALENT), derived),
        )
        calls.append(call)
    return calls


class CallCounts(NamedTuple):
    """Numerator and denominator of the call accuracy."""

    correct: int
    golden: int


def compute_call_counts(item: ScoredItem, calls: list[ReviewedCall]) -> CallCounts:
    """Count the accepted and the golden calls of a sample, after the reviews of calls.

    Starts from the evaluator's own counts, which may count a repeated call twice, and adds or
    subtracts one for each call whose verdict a review changed.
    """
    recorded_counts = as_object(item.metadata.get("counts"))
    n_golden = get_count_or_zero(recorded_counts, "total_call_num") or item.n_golden
    if recorded_counts:
        n_accepted = get_count_or_zero(recorded_counts, "correct_call_num")
    else:
        n_accepted = sum(call.officially_accepted is True for call in calls)

    # `correct_call_num` has one for each call that the evaluator accepted, so each of them that a
    # review rejects is subtracted, even if the golden call has another accepted call.
    n_newly_rejected = sum(bool(call.officially_accepted and not call.accepted) for call in calls)
    n_correct = n_accepted - n_newly_rejected + _count_newly_fulfilled_golden_calls(calls)
    return CallCounts(n_correct, golden=n_golden)


def _count_newly_fulfilled_golden_calls(calls: list[ReviewedCall]) -> int:
    """Return the number of golden calls that have an accepted call only because of a review.

    Of two calls that reviews accept for one golden call, the second is a repetition, which adds
    nothing. Nor does an accepted call that belongs to no golden call.
    """
    fulfilled_before = {call.golden for call in calls if call.officially_accepted and call.accepted}
    fulfilled_by_review = {
        call.golden for call in calls if call.accepted and not call.officially_accepted
    }
    return len(fulfilled_by_review - fulfilled_before - {None})


def get_count_or_zero(counts: Mapping[str, Any], field_name: str) -> int:
    """Return a field of `count_dict`, or 0 if the field is missing or not an integer."""
    count = counts.get(field_name)
    return count if is_integer(count) else 0


def get_sample_error_type(item: ScoredItem, calls: list[ReviewedCall]) -> str | None:
    """Return the error type of a failed sample: the recorded one or, without one, that of the first
    call that an override rejects. None for a sample that did not fail.
    """
    if item.valid is not False:
        return None
    if item.error_type:
        return item.error_type
    for call in calls:
        is_newly_rejected = call.officially_accepted and call.accepted is False
        if is_newly_rejected and call.error:
            return call.error
    return None


@dataclass(frozen=True, slots=True)
class SampleOutcome:
    """The values of one sample that the metrics use."""

    domain: str
    success: bool | None
    correct_calls: int
    golden_calls: int
    completeness: int | None = None
    """Score of the judge, from 0 to 2. None, -1 and -2 mean that the judge gave no usable score."""
    correctness: int | None = None
    """Score of the judge, with the same values as `completeness`."""


def compute_printed_metrics(
    outcomes: Sequence[SampleOutcome],
) -> dict[str, float | dict[str, float]]:
    """Compute the metrics that the program `print_results.py` prints, with the same names.

    Rates are in percent, and the scores of responses are from 0 to 2.
    """
    n_successes = sum(outcome.success is True for outcome in outcomes)
    call_accuracies = {}
    for domain, outcomes_of_domain in _group_by_domain(outcomes).items():
        call_accuracies[domain] = compute_call_accuracy(outcomes_of_domain)
    return {
        "Domain Success Rate": _compute_printed_success_rates(outcomes),
        "Domain Call Accuracy": call_accuracies,
        "Overall Success Rate": n_successes / N_SAMPLES * 100,
        "Overall Call Accuracy": compute_call_accuracy(outcomes),
        "Complete Score": compute_mean_score([outcome.completeness for outcome in outcomes]),
        "Correct Score": compute_mean_score([outcome.correctness for outcome in outcomes]),
    }


def _compute_printed_success_rates(outcomes: Sequence[SampleOutcome]) -> dict[str, float]:
    """Return domain -> success rate in percent.

    As in the program, a domain (such as hotels) in which no sample succeeded has no rate.
    """
    n_successes_by_domain = Counter(outcome.domain for outcome in outcomes if outcome.success)
    rates = {}
    for domain, n_successes in n_successes_by_domain.items():
        # The program divides by these numbers even if records are missing.
        n_samples = SAMPLES_PER_DOMAIN.get(domain, DEFAULT_SAMPLES_PER_DOMAIN)
        rates[domain] = n_successes / n_samples * 100
    return rates


def compute_metrics_of_present_records(
    outcomes: Sequence[SampleOutcome],
) -> dict[str, float | dict[str, float]]:
    """Compute the metrics of `print_results.py`, but divide the success rates by the number of
    existing records.
    """
    metrics = compute_printed_metrics(outcomes)
    domains = _group_by_domain(outcomes)
    metrics["Domain Success Rate"] = {
        domain: compute_success_rate(part) for domain, part in domains.items()
    }
    metrics["Overall Success Rate"] = compute_success_rate(outcomes)
    return metrics


def compute_success_rate(outcomes: Sequence[SampleOutcome]) -> float:
    """Return the share of successful samples in percent."""
    if not outcomes:
        return 0.0
    n_successes = sum(outcome.success is True for outcome in outcomes)
    return n_successes / len(outcomes) * 100


def compute_call_accuracy(outcomes: Sequence[SampleOutcome]) -> float:
    """Return the number of accepted calls divided by the number of golden calls, in percent."""
    n_correct = sum(outcome.correct_calls for outcome in outcomes)
    n_golden = sum(outcome.golden_calls for outcome in outcomes)
    return n_correct / n_golden * 100 if n_golden else 0.0


def _group_by_domain(outcomes: Sequence[SampleOutcome]) -> dict[str, list[SampleOutcome]]:
    domains: dict[str, list[SampleOutcome]] = {}
    for outcome in outcomes:
        domains.setdefault(outcome.domain, []).append(outcome)
    return domains


def compute_mean_score(scores: Sequence[int | None]) -> float:
    """Return the mean of the usable scores (0 to 2), or 0."""
    usable = [score for score in scores if score in (0, 1, 2)]
    return sum(usable) / len(usable) if usable else 0.0


FIXED_DENOMINATOR_NOTE = (
    "always divided by 150 samples per domain (Cross: 400, overall: 1000), even if records are"
    " missing"
)
PAPER_ERROR_TYPES = (
    "func_error",
    "param_missing",
    "param_hallucination",
    "value_error",
    "stop_early",
)
"""Error types of the paper's Figure 4. The paper calls `param_hallucination` just hallucination."""


@dataclass(frozen=True, slots=True)
class ReviewedSample:
    item: ScoredItem
    calls: list[ReviewedCall]
    """Predicted calls of the sample."""


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute the metrics of a run.

    The figures exist twice: as the official program prints them, which counts missing samples as
    failed, and over the samples that the run has. A sample without a result record counts only if
    annotators gave it a verdict.
    """
    samples = []
    for item in items:
        if item.valid is not None:
            samples.append(ReviewedSample(item, list_reviewed_calls(item)))
    if not samples:
        return []

    outcomes = [_make_outcome(sample) for sample in samples]
    printed = compute_printed_metrics(outcomes)
    present = compute_metrics_of_present_records(outcomes)
    metrics = _convert_to_metrics("as printed", printed, FIXED_DENOMINATOR_NOTE)
    metrics += _convert_to_metrics("over the records present", present, "")
    metrics += _compute_error_type_metrics(samples)
    metrics += _compute_parameter_type_metrics(samples)
    metrics += _compute_step_metrics(samples)
    return metrics


def _convert_to_metrics(
    table: str, values: Mapping[str, float | dict[str, float]], success_note: str
) -> list[Metric]:
    """Convert computed values to metrics.

    Args:
        table: The table of the metrics.
        values: Name of a metric -> its value, or its values by domain.
        success_note: A remark on the success rate over all domains, or empty.
    """
    metrics = []
    for name, value in values.items():
        if isinstance(value, dict):
            for domain, rate in value.items():
                title = f"{name}: {domain}"
                metrics.append(Metric(table, title, value=rate, unit="percent", level=1))
            continue
        unit: MetricUnit = "score" if name.endswith("Score") else "percent"
        note = success_note if "Success" in name else ""
        metrics.append(Metric(table, name, value=value, unit=unit, note=note))
    return metrics


def _make_outcome(sample: ReviewedSample) -> SampleOutcome:
    """Return what a sample adds to the metrics, after the reviews."""
    item = sample.item
    counts = compute_call_counts(item, sample.calls)
    completeness = item.values.get("completeness")
    correctness = item.values.get("correctness")
    return SampleOutcome(
        item.category,
        success=item.valid,
        correct_calls=counts.correct,
        golden_calls=counts.golden,
        completeness=completeness if is_integer(completeness) else None,
        correctness=correctness if is_integer(correctness) else None,
    )


def _compute_error_type_metrics(samples: Sequence[ReviewedSample]) -> list[Metric]:
    """Count the error types of failed samples, and compute their shares as in Figure 4 of the
    paper.

    The error types of the paper come first, also those that do not occur.
    """
    type_counts: Counter[str] = Counter()
    for sample in samples:
        error_type = get_sample_error_type(sample.item, sample.calls)
        if error_type:
            type_counts[error_type] += 1

    names = list(PAPER_ERROR_TYPES)
    names += [name for name in type_counts if name not in PAPER_ERROR_TYPES]
    n_samples = type_counts.total()
    note = "share of the failed samples with an error type"
    counts = []
    shares = []
    for name in names:
        count = type_counts[name]
        share = count / n_samples if n_samples else None
        counts.append(Metric("error types", name, value=count, unit="count"))
        shares.append(Metric("error shares", name, value=share, note=note))
    return counts + shares


def _compute_parameter_type_metrics(samples: Sequence[ReviewedSample]) -> list[Metric]:
    """Compute how often parameters of each type, such as dates, are wrong, as in Figure 5 of the
    paper.

    The rate is the share of the parameters in compared calls that differ in a rejected call.
    """
    n_compared: Counter[str] = Counter()
    n_wrong: Counter[str] = Counter()
    for sample in samples:
        n_compared.update(sample.item.metadata.get("parameters compared") or {})
        for call in sample.calls:
            if call.accepted is False:
                n_wrong.update(call.wrong_parameter_types.values())

    note = "share of the parameters in compared calls"
    counts = []
    rates = []
    for name in PARAMETER_TYPES:
        if n_compared[name]:
            rate = n_wrong[name] / n_compared[name]
            counts.append(
                Metric("wrong parameters by type", name, value=n_wrong[name], unit="count")
            )
            rates.append(Metric("error rate by type", name, value=rate, note=note))
    return counts + rates


def _compute_step_metrics(samples: Sequence[ReviewedSample]) -> list[Metric]:
    """Compare how many steps the model took with how many the golden path has.

    The result records state both numbers. Samples without them are left out.
    """
    model_steps = []
    golden_steps = []
    for sample in samples:
        # `real_turn_num` and `total_turn_num` are the evaluator's names for the steps of both.
        counts = sample.item.metadata.get("counts")
        if isinstance(counts, dict):
            model_steps.append(get_count_or_zero(counts, "real_turn_num"))
            golden_steps.append(get_count_or_zero(counts, "total_turn_num"))
    n_model_steps = sum(model_steps)
    n_golden_steps = sum(golden_steps)
    if n_golden_steps == 0:
        return []

    n_samples = len(model_steps)
    metrics = [
        _make_score("taken / golden path", n_model_steps / n_golden_steps),
        _make_score("mean, taken", n_model_steps / n_samples),
        _make_score("mean, golden path", n_golden_steps / n_samples),
    ]
    metrics += _count_samples_by_steps("steps taken", model_steps)
    metrics += _count_samples_by_steps("steps of the golden path", golden_steps)
    return metrics


def _make_score(name: str, value: float) -> Metric:
    return Metric("steps", name, value=value, unit="score")


def _count_samples_by_steps(table: str, steps_by_sample: Sequence[int]) -> list[Metric]:
    """Return the number of samples with each number of steps, as in the paper's Figure 6."""
    counts = sorted(Counter(steps_by_sample).items())
    return [
        Metric(table, str(n_steps), value=n_samples, unit="count") for n_steps, n_samples in counts
    ]


_PARAMETER_TYPE_WORDS = {
    "filter": {"filter", "filters"},
    "legs": {"legs"},
    "token": {"token"},
    "slug": {"slug"},
    "date": {"date"},
    "time": {"time"},
    "sort_by": {"sort"},
    "location": {"query", "latitude", "longitude", "location", "country", "city"},
    "key": {"key"},
    "id": {"id"},
    "type": {"type"},
    "age": {"age", "ages", "children"},
    "people": {"adults", "people", "passengers"},
}
"""Parameter type -> words in the names of parameters of this type. The first type with a matching
word applies. The paper's Table 4 has one example for each of 13 types, but does not state the type
of every parameter.
"""
OTHER_TYPE = "other"
PARAMETER_TYPES = (*_PARAMETER_TYPE_WORDS, OTHER_TYPE)


def classify_parameter(parameter_name: str) -> str:
    """Return the parameter type for a name: `date` for `departDate`, `sort_by` for
    `sort_option_id`.
    """
    words = {word.lower() for word in re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+", parameter_name)}
    for type_name, type_words in _PARAMETER_TYPE_WORDS.items():
        if words & type_words:
            return type_name
    return OTHER_TYPE


def summarize_call(verdict: CallVerdict) -> dict[str, Any]:
    """Summarize a predicted call for the metrics, such as `{"accepted": true, "golden": 4, "error":
    "value_error", "wrong": {"legs": "legs"}}`.

    `accepted` is null if the evaluator did not judge the call. `golden` is the number, from 1, of
    the compared golden call. It is omitted without such a call. `error` is the evaluator's error
    type. For an accepted call, it is the error type that the call would get if it were rejected.
    `wrong` maps the parameters that differ to their types.
    """
    summary: dict[str, Any] = {"accepted": verdict.ok}
    if verdict.golden is not None:
        summary["golden"] = verdict.golden.index + 1

    wrong_parameters = _list_wrong_parameters(verdict)
    error_type = verdict.error_type
    if error_type is None and wrong_parameters and verdict.golden is not None:
        predicted = call_to_json(verdict.predicted)
        error_type = find_call_error(predicted, call_to_json(verdict.golden)).error_type
    if error_type is not None:
        summary["error"] = error_type
    if wrong_parameters:
        summary["wrong"] = {name: classify_parameter(name) for name in wrong_parameters}
    return summary


def _list_wrong_parameters(verdict: CallVerdict) -> list[str]:
    """Return the compared parameters that differ or that only one of the calls has."""
    predicted, golden = _get_compared_arguments(verdict)
    wrong = []
    for name in golden | predicted:
        has_both = name in golden and name in predicted
        if not has_both or not is_equal_value(name, predicted[name], golden[name]):
            wrong.append(name)
    return wrong


class ComparedArguments(NamedTuple):
    """Arguments that the evaluator compared.

    Both are empty for an invalid call and for a call of another function.
    """

    predicted: JsonCall
    golden: JsonCall


def _get_compared_arguments(verdict: CallVerdict) -> ComparedArguments:
    """Return the predicted and the golden arguments that the evaluator compared. Empty if it
    compared none.
    """
    golden = verdict.golden
    predicted = verdict.predicted
    # The evaluator compares no arguments of an invalid call, or of calls of different functions.
    is_invalid = verdict.tier == "format"
    if golden is None or is_invalid or golden.name != predicted.name:
        return ComparedArguments({}, {})
    return ComparedArguments(
        call_to_json(predicted)["arguments"], call_to_json(golden)["arguments"]
    )


def count_compared_parameters(verdicts: Sequence[CallVerdict]) -> dict[str, int]:
    """Return the number of compared parameters by parameter type."""
    counts: Counter[str] = Counter()
    for verdict in verdicts:
        predicted, golden = _get_compared_arguments(verdict)
        counts.update(classify_parameter(name) for name in golden | predicted)
    return dict(counts)

"""Compute ComplexFuncBench's metrics.

There are three groups of metrics:

* the output of the released `print_results.py` (commit c37b284), whose success rates have fixed
  denominators
* the same metrics, but with success rates over the existing records
* the paper's error analysis (Figures 4 and 5) and distribution of steps (Figure 6)

The table shows the effect of an override on a call (criterion `equivalent`, or `correct` of the
call):

| override | effect on call accuracy | effect on the sample (by `Extra.needs`) |
|---|---|---|
| accepted call is wrong | -1 accepted call | fails if its golden call has no other accepted call |
| rejected call is correct | +1 if no call was accepted for its golden call | passes if no golden call is missing |

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
from fcreview.model.metric import Metric, ScoredItem
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
    """Return the predicted calls that the importer stored in the item's metadata, with their
    overrides.
    """
    calls = []
    for address, call in as_object(item.metadata.get("calls")).items():
        derived = item.derive_verdict("complexfuncbench", address, EQUIVALENT)
        override = item.overrides.get((address, EQUIVALENT), derived)
        wrong = call.get("wrong") or {}
        calls.append(
            ReviewedCall(
                call["accepted"],
                golden=call.get("golden"),
                error=call.get("error"),
                wrong_parameter_types=wrong,
                override=override,
            )
        )
    return calls


class CallCounts(NamedTuple):
    """Numerator and denominator of the call accuracy."""

    correct: int
    golden: int


def compute_call_counts(item: ScoredItem, calls: list[ReviewedCall]) -> CallCounts:
    """Return the recorded counts of a sample, changed by the overrides on its calls.

    The evaluator may count a repeated optional call twice, which the result keeps. A call that an
    override accepts counts only if its golden call has no other accepted call.
    """
    recorded = as_object(item.metadata.get("counts"))
    n_accepted = sum(call.officially_accepted is True for call in calls)
    correct = get_count_or_zero(recorded, "correct_call_num") if recorded else n_accepted
    covered = {call.golden for call in calls if call.officially_accepted and call.accepted}
    for call in calls:
        if call.officially_accepted and not call.accepted:
            correct -= 1
        elif (
            call.accepted
            and not call.officially_accepted
            and call.golden is not None
            and call.golden not in covered
        ):
            correct += 1
            covered.add(call.golden)
    return CallCounts(correct, get_count_or_zero(recorded, "total_call_num") or item.n_golden)


def get_count_or_zero(counts: Mapping[str, Any], field_name: str) -> int:
    """Return a field of `count_dict`, or 0 if the field is missing or not an integer."""
    return counts[field_name] if is_integer(counts.get(field_name)) else 0


def get_sample_error_type(item: ScoredItem, calls: list[ReviewedCall]) -> str | None:
    """Return the error type of a failed sample: the recorded one or that of the first call that
    an override rejects.
    """
    if item.valid is not False:
        return None
    rejected = (
        call.error
        for call in calls
        if call.officially_accepted and call.accepted is False and call.error
    )
    return item.error_type or next(rejected, None)


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
    """Compute the metrics that `print_results.py` prints, with the same names.

    Rates are in percent, and response scores are from 0 to 2. A domain without a success has no
    success rate.
    """
    successes = Counter(outcome.domain for outcome in outcomes if outcome.success)
    domains = _group_by_domain(outcomes)
    return {
        "Domain Success Rate": {
            name: n / SAMPLES_PER_DOMAIN.get(name, 150) * 100 for name, n in successes.items()
        },
        "Domain Call Accuracy": {
            name: compute_call_accuracy(part) for name, part in domains.items()
        },
        "Overall Success Rate": successes.total() / N_SAMPLES * 100,
        "Overall Call Accuracy": compute_call_accuracy(outcomes),
        "Complete Score": compute_mean_score([outcome.completeness for outcome in outcomes]),
        "Correct Score": compute_mean_score([outcome.correctness for outcome in outcomes]),
    }


def compute_metrics_of_present_records(
    outcomes: Sequence[SampleOutcome],
) -> dict[str, float | dict[str, float]]:
    """Compute the metrics of `print_results.py`, but divide the success rates by the number of
    existing records.
    """
    rates = {name: compute_success_rate(part) for name, part in _group_by_domain(outcomes).items()}
    metrics = compute_printed_metrics(outcomes)
    return metrics | {
        "Domain Success Rate": rates,
        "Overall Success Rate": compute_success_rate(outcomes),
    }


def compute_success_rate(outcomes: Sequence[SampleOutcome]) -> float:
    """Return the share of successful samples in percent."""
    return (
        sum(outcome.success is True for outcome in outcomes) / len(outcomes) * 100
        if outcomes
        else 0.0
    )


def compute_call_accuracy(outcomes: Sequence[SampleOutcome]) -> float:
    """Return the number of accepted calls divided by the number of golden calls, in percent."""
    golden = sum(outcome.golden_calls for outcome in outcomes)
    return sum(outcome.correct_calls for outcome in outcomes) / golden * 100 if golden else 0.0


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
ReviewedSample = tuple[ScoredItem, list[ReviewedCall]]
"""A sample and its predicted calls."""


def compute_metrics(items: Sequence[ScoredItem], run: Run) -> list[Metric]:  # noqa: ARG001
    """Compute the metrics of a run.

    A sample without a record counts only if annotators gave it a verdict.
    """
    with_verdict = [item for item in items if item.valid is not None]
    samples = [(item, list_reviewed_calls(item)) for item in with_verdict]
    if not samples:
        return []
    outcomes = [_make_outcome(item, calls) for item, calls in samples]
    metrics = _convert_to_metrics(
        "as printed", compute_printed_metrics(outcomes), FIXED_DENOMINATOR_NOTE
    )
    metrics += _convert_to_metrics(
        "over the records present", compute_metrics_of_present_records(outcomes), ""
    )
    return (
        metrics
        + _compute_error_type_metrics(samples)
        + _compute_parameter_type_metrics(samples)
        + _compute_step_metrics(with_verdict)
    )


def _convert_to_metrics(table: str, values: Mapping[str, Any], note: str) -> list[Metric]:
    metrics = []
    for name, value in values.items():
        if isinstance(value, dict):
            metrics += [
                Metric(table, f"{name}: {domain}", value=rate, unit="percent", level=1)
                for domain, rate in value.items()
            ]
        else:
            unit: Any = "score" if name.endswith("Score") else "percent"
            metrics.append(
                Metric(table, name, value=value, unit=unit, note=note if "Success" in name else "")
            )
    return metrics


def _make_outcome(item: ScoredItem, calls: list[ReviewedCall]) -> SampleOutcome:
    counts = compute_call_counts(item, calls)
    scores = (item.values.get(name) for name in ("completeness", "correctness"))
    completeness, correctness = (score if is_integer(score) else None for score in scores)
    return SampleOutcome(
        item.category,
        success=item.valid,
        correct_calls=counts.correct,
        golden_calls=counts.golden,
        completeness=completeness,
        correctness=correctness,
    )


def _compute_error_type_metrics(samples: Sequence[ReviewedSample]) -> list[Metric]:
    """Compute the values of the paper's Figure 4: the share of each type among the samples with
    an error type.
    """
    type_counts = Counter(
        error_type for item, calls in samples if (error_type := get_sample_error_type(item, calls))
    )
    names = [*PAPER_ERROR_TYPES, *(name for name in type_counts if name not in PAPER_ERROR_TYPES)]
    total = type_counts.total()
    counts = [Metric("error types", name, value=type_counts[name], unit="count") for name in names]
    note = "share of the failed samples with an error type"
    shares = [type_counts[name] / total if total else None for name in names]
    return counts + [
        Metric("error shares", name, value=share, note=note)
        for name, share in zip(names, shares, strict=True)
    ]


def _compute_parameter_type_metrics(samples: Sequence[ReviewedSample]) -> list[Metric]:
    """Compute the values of the paper's Figure 5: the share of compared parameters that differ
    in a rejected call.
    """
    wrong, compared = Counter[str](), Counter[str]()
    for item, calls in samples:
        compared.update(item.metadata.get("parameters compared") or {})
        for call in calls:
            wrong.update(call.wrong_parameter_types.values() if call.accepted is False else ())
    names = [name for name in PARAMETER_TYPES if compared[name]]
    counts = [
        Metric("wrong parameters by type", name, value=wrong[name], unit="count") for name in names
    ]
    note = "share of the parameters in compared calls"
    return counts + [
        Metric("error rate by type", name, value=wrong[name] / compared[name], note=note)
        for name in names
    ]


def _compute_step_metrics(items: Sequence[ScoredItem]) -> list[Metric]:
    counts = [
        item.metadata["counts"] for item in items if isinstance(item.metadata.get("counts"), dict)
    ]
    model_steps = [get_count_or_zero(each, "real_turn_num") for each in counts]
    golden_steps = [get_count_or_zero(each, "total_turn_num") for each in counts]
    if not sum(golden_steps):
        return []
    metrics = [
        Metric(
            "steps", "taken / golden path", value=sum(model_steps) / sum(golden_steps), unit="score"
        ),
        Metric("steps", "mean, taken", value=sum(model_steps) / len(counts), unit="score"),
        Metric("steps", "mean, golden path", value=sum(golden_steps) / len(counts), unit="score"),
    ]
    # The paper's Figure 6 shows the number of samples with each number of steps.
    for table, values in (("steps taken", model_steps), ("steps of the golden path", golden_steps)):
        metrics += [
            Metric(table, f"{steps}", value=count, unit="count")
            for steps, count in sorted(Counter(values).items())
        ]
    return metrics


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
    return next(
        (name for name, type_words in _PARAMETER_TYPE_WORDS.items() if words & type_words),
        OTHER_TYPE,
    )


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
    predicted, golden = _get_compared_arguments(verdict)
    equal = {
        n for n in golden.keys() & predicted.keys() if is_equal_value(n, predicted[n], golden[n])
    }
    wrong = {name: classify_parameter(name) for name in [*golden, *predicted] if name not in equal}
    error = verdict.error_type
    if error is None and wrong and verdict.golden is not None:
        error = find_call_error(
            call_to_json(verdict.predicted), call_to_json(verdict.golden)
        ).error_type
    if error is not None:
        summary["error"] = error
    return summary | ({"wrong": wrong} if wrong else {})


class ComparedArguments(NamedTuple):
    """Arguments that the evaluator compared.

    Both are empty for an invalid call and for a call of another function.
    """

    predicted: JsonCall
    golden: JsonCall


def _get_compared_arguments(verdict: CallVerdict) -> ComparedArguments:
    predicted, golden = verdict.predicted, verdict.golden
    if golden is None or verdict.tier == "format" or golden.name != predicted.name:
        return ComparedArguments({}, {})
    return ComparedArguments(
        call_to_json(predicted)["arguments"], call_to_json(golden)["arguments"]
    )


def count_compared_parameters(verdicts: Sequence[CallVerdict]) -> dict[str, int]:
    """Return the number of compared parameters by parameter type."""
    calls = [_get_compared_arguments(verdict) for verdict in verdicts]
    return dict(
        Counter(
            classify_parameter(name)
            for predicted, golden in calls
            for name in {**golden, **predicted}
        )
    )

"""Lines of the commands that compute scores and compare runs."""

from __future__ import annotations

from dataclasses import replace

from fcreview.cli.json_schemas.common import (
    BOUNDS,
    CATEGORY,
    CLUSTERS,
    DATASET,
    EXPECTED_ITEMS,
    INTERVAL,
    MODEL,
    NOT_RUN,
    QUESTION_KEY,
    RUN_NAME,
    RUN_NUMBER,
)
from fcreview.cli.json_schemas.declaration import (
    CommandLines,
    Field,
    Line,
    from_dataclass,
    optional,
)
from fcreview.exporters.report_summary import MetricRow
from fcreview.stats.calibration import Calibration, CalibrationMeasure, ErrorGroup
from fcreview.stats.conventions import ConventionRow
from fcreview.stats.judge_trust import EffectiveNumber, SourceTrust
from fcreview.stats.label_errors import LabelAgreement
from fcreview.stats.run_comparison import PairedCounts
from fcreview.stats.source_strata import SourceStratum
from fcreview.stats.weighted_calibration import WeightedMeasure

RUN_OR_MODEL = {
    "run": Field("integer|null", "Number of the run; null for several runs together."),
    "run_name": Field("string", "Name of the run, or of the model of several runs."),
}
REPORTED_RUN = (
    RUN_OR_MODEL
    | DATASET
    | MODEL
    | NOT_RUN
    | EXPECTED_ITEMS
    | {
        "reviewed": Field("integer", "Number of items of the run with a review."),
        "by_erratum": Field("integer", "Number of verdicts from accepted golden answers."),
    }
)
PROBLEMS = {"problems": Field("string", "Why the score may not be real; empty without a problem.")}
METRIC = from_dataclass(
    MetricRow,
    {
        "table": "Table of the report. With level and name, it identifies a score of a run.",
        "name": "Name of the score.",
        "unit": "Unit: share (0 to 1), percent, score, count, seconds or dollars.",
        "level": "Depth in the table, from 0.",
        "note": "Remark on the score.",
        "digits": "Number of decimal places that reports show.",
        "counted": "What the score counts, such as items.",
        "of": "Number of units that the score covers, or null.",
        "open_disagreements": "Number of open disagreements that affect the score.",
        "corrected_low": "corrected if all open disagreements fail; null without any.",
        "corrected_high": "corrected if all open disagreements pass; null without any.",
        "incidents": "Number of incidents of the run.",
        "without_incidents": "Value without incidents, by source; empty without incidents.",
        "n_without_incidents": "Number of verdicts without incidents, by source.",
        "n": "Number of units with a verdict, by source.",
    },
)
SOURCE_VALUES = {
    "official": Field("number|null", "Value from the score files, or null."),
    "rule": Field("number|null", "Value from recomputed verdicts, or null."),
    "corrected": Field("number|null", "Value from effective verdicts, or null."),
}
ERRATA_VALUE = {"errata": Field("number|null", "Value with applied errata, or null.")}
ESTIMATED = {"estimated": Field("number|null", "Value estimated from a random sample, or null.")}
CONVENTION = from_dataclass(
    ConventionRow,
    {
        "figure": "accuracy, pass^k (all of k trials pass) or pass@k (at least one passes).",
        "convention": "Names of the conventions with this value.",
        "rule": "How the convention counts.",
        "value": "Share from 0 to 1; null if the convention does not define it.",
        "n": "Number of counted trials.",
        "n_tasks": "Number of counted tasks.",
        "is_own": "Whether this is the convention of the program that produced the run.",
        "note": "Remark on the figure.",
        "items": "Ids of the items that the convention counts differently.",
        "incidents": "Number of incidents of the run.",
        "value_without_incidents": "Value without incidents, or null.",
        "n_without_incidents": "Number of trials without incidents, or null.",
    },
)
QUESTION_COUNTS = {
    "questions": Field("integer", "Number of compared questions."),
    "left_out": Field("integer", "Number of questions that are left out."),
}
RANKED_RUN = {
    "ranking": Field("string", "official, without incidents, with errata or convention."),
    "figure": Field("string", "Figure that ranks the runs, such as accuracy or pass^2."),
    "convention": Field("string|null", "Names of the conventions, or null."),
    "source": Field("string", "Source of the verdicts: official or rule (recomputed)."),
    "rank": Field("integer", "Rank of the run, from 1."),
    "rank_low": Field("integer", "Best rank that chance alone could give."),
    "rank_high": Field("integer", "Worst rank that chance alone could give."),
    "value": Field("number|null", "Figure of the run, from 0 to 1; null without common items."),
    "groups": Field("array", "Letters of the groups of runs that cannot be told apart."),
    "not_told_apart": Field("array", "Numbers of the runs that may be as good."),
    "against": Field("integer|null", "Number of the run it is compared with, or null."),
    "only_run": Field("integer", "Number of items that only this run passes."),
    "only_other": Field("integer", "Number of items that only the other run passes."),
    "changed": Field("integer", "Number of verdicts that errata change."),
    "draws": Field("integer", "Number of random draws for the ranks."),
    "seed": Field("integer", "Random seed."),
}
P_VALUE = {"p": Field("number|null", "p value of the difference, or null.")}
P_HOLM = {"p_holm": Field("number|null", "p value corrected for several comparisons, or null.")}
TEST = {"test": Field("string|null", "Name of the test, or null.")}
DIFFERENCE = {"difference": Field("number|null", "Difference of the shares, or null.")}
VERSUS = {
    "group": Field("string", "Group with the best mean."),
    "questions": Field("integer", "Number of questions that both groups answer."),
}
GROUP_FIGURE = {
    "figure": Field("string", "mean, pass^k or pass@k."),
    "value": Field("number|null", "Share from 0 to 1, or null."),
}
RUN_GROUP = {
    "group": Field("string", "Name of the group."),
    "runs": Field("array", "Numbers of the runs."),
    "run_names": Field("array", "Names of the runs."),
    "values": Field("array", "Pass rate of each run, from 0 to 1."),
    "spread": Field("number|null", "Standard deviation of the pass rates, or null."),
    "figures": Field("array", "Figures of the group.", fields=GROUP_FIGURE | INTERVAL),
    "unstable": Field("integer", "Number of questions that some trials pass and others fail."),
    "versus": Field(
        "object|null",
        "Difference from the group with the best mean; null for this group.",
        fields=VERSUS | DIFFERENCE | INTERVAL | P_VALUE | P_HOLM | TEST,
    ),
}

REPORT = CommandLines(
    version=1,
    lines=[
        Line(
            "A score of a run.",
            REPORTED_RUN
            | optional(PROBLEMS)
            | METRIC
            | SOURCE_VALUES
            | optional(ERRATA_VALUE)
            | ESTIMATED
            | INTERVAL
            | BOUNDS,
        ),
        Line("A figure by a counting convention (--conventions).", REPORTED_RUN | CONVENTION),
        Line(
            "A run in a ranking (--ranking), best first.",
            RUN_NUMBER | RUN_NAME | DATASET | MODEL | RANKED_RUN | QUESTION_COUNTS | CLUSTERS,
        ),
        Line(
            "A group of runs (--group), best mean first.",
            DATASET | RUN_GROUP | QUESTION_COUNTS | CLUSTERS,
        ),
    ],
)

SIDE = (
    RUN_NUMBER
    | RUN_NAME
    | MODEL
    | {
        "generation": DATASET["generation"],
        "language": DATASET["language"],
        "source": Field("string", "Source of the verdicts."),
        "source_reason": Field("string", "option, official verdicts or no official verdicts."),
    }
)
RUN_SIDES = {
    "a": Field("object", "The first run.", fields=SIDE),
    "b": Field("object", "The second run.", fields=SIDE),
}
DESIGN_EFFECT = {
    "design_effect": Field("number|null", "Variance relative to independent items, or null.")
}
PAIR_COUNTS = from_dataclass(
    PairedCounts,
    {
        "both_pass": "Number of items that both runs pass.",
        "both_fail": "Number of items that both runs fail.",
        "only_a": "Number of items that only the first run passes.",
        "only_b": "Number of items that only the second run passes.",
    },
)
PAIRS = (
    {
        "of": Field("integer", "Number of pairs of items."),
        "n": Field("integer", "Number of pairs with two verdicts."),
    }
    | PAIR_COUNTS
    | {
        "rate_a": Field("number|null", "Pass rate of the first run, from 0 to 1."),
        "rate_b": Field("number|null", "Pass rate of the second run, from 0 to 1."),
        "standard_error_a": Field("number|null", "Standard error of rate_a, or null."),
        "standard_error_b": Field("number|null", "Standard error of rate_b, or null."),
    }
    | DIFFERENCE
    | INTERVAL
    | P_VALUE
    | P_HOLM
    | TEST
    | {"p_reason": Field("string|null", "Why there is no p value, or null.")}
    | {"clusters": Field("integer|null", "Number of clusters, or null.")}
    | DESIGN_EFFECT
    | {
        "reviewed_a": Field("integer", "Number of reviewed items of the first run."),
        "reviewed_b": Field("integer", "Number of reviewed items of the second run."),
        "comparable": Field("boolean", "Whether the rates can be compared."),
    }
)
CONFIDENCE = {
    "level": Field("number", "Confidence level of the intervals."),
    "method": Field("string", "Method of the intervals."),
}
OVERALL = {
    "complete_categories": Field(
        "object|null", "The same figures for the categories complete in both runs.", fields=PAIRS
    ),
    "judged_a": Field("integer", "Number of items of the first run with a verdict."),
    "judged_b": Field("integer", "Number of items of the second run with a verdict."),
    "without_partner_a": Field("integer", "Number of items that only the first run has."),
    "without_partner_b": Field("integer", "Number of items that only the second run has."),
    "other_question": Field("integer", "Number of ids with different questions."),
    "independent": Field("boolean", "Whether no items belong to a common cluster."),
    "wrong_golden": Field("integer", "Number of items left out for a wrong golden answer."),
}
ESTIMATED_DIFFERENCE = {
    "automatic": Field("number|null", "Difference of the automatic verdicts, or null."),
    "of": Field("integer", "Number of pairs that the estimate is about."),
    "reviewed": Field("integer", "Number of reviewed pairs."),
    "undecided": Field("integer", "Number of reviewed pairs without a decision."),
    "outside": Field("integer", "Number of pairs outside the sampled items."),
    "clusters": Field("integer|null", "Number of clusters, or null."),
    "why": Field("string|null", "Why there is no estimate, or null."),
}
FLIP_SIDE = {
    "verdict": Field("boolean|null", "Verdict of the run."),
    "error_type": Field("string|null", "Error type, or null."),
    "first_difference": Field("string|null", "First difference from the golden answer, or null."),
}
FLIP = {
    "passes": Field("string", "Run that passes: a or b."),
    "same_prediction": Field("boolean", "Whether both runs gave the same answer."),
    "golden_differs": Field("boolean", "Whether the golden answers differ."),
    "cause": Field("string", "Why the verdicts differ."),
    "a": Field("object", "Result of the first run.", fields=FLIP_SIDE),
    "b": Field("object", "Result of the second run.", fields=FLIP_SIDE),
}
MATRIX_RUN = {
    "rank": Field("integer", "Rank of the run, from 1."),
    "passed": Field("integer", "Number of items that the run passes."),
    "known": Field("integer", "Number of items with a verdict."),
    "rate": Field("number|null", "Pass rate, from 0 to 1."),
    "shared": Field("boolean", "Whether only items with a verdict in every run count."),
    "standard_error": Field("number|null", "Standard error of the rate, or null."),
    "reviewed": Field("integer", "Number of reviewed items."),
    "to_best": Field("number|null", "Difference from the best run, or null."),
    "to_best_low": Field("number|null", "Lower end of its 95 % interval, or null."),
    "to_best_high": Field("number|null", "Upper end of its 95 % interval, or null."),
    "to_best_p": Field("number|null", "p value of this difference, or null."),
    "tied_with_best": Field("boolean", "Whether the run may be as good as the best."),
}
MATRIX_ITEM = {
    "passing": Field("integer", "Number of runs that pass the item."),
    "failing": Field("integer", "Number of runs that fail the item."),
    "upset": Field("number", "How much better the failing runs are than the passing ones."),
    "verdicts": Field("object", "Verdict by run number, best run first."),
}

COMPARE = CommandLines(
    version=1,
    lines=[
        Line(
            "Two runs on all common items.",
            RUN_SIDES | PAIRS | OVERALL | CONFIDENCE,
            kind="overall",
        ),
        Line(
            "Difference estimated from a joint sample (--source effective).",
            DIFFERENCE
            | INTERVAL
            | P_VALUE
            | BOUNDS
            | ESTIMATED_DIFFERENCE
            | DESIGN_EFFECT
            | CONFIDENCE,
            kind="estimate",
        ),
        Line("Two runs on a category.", CATEGORY | PAIRS, kind="category"),
        Line("An item that one of two runs passes.", QUESTION_KEY | FLIP, kind="flip"),
        Line("One of several runs, best first.", SIDE | MATRIX_RUN | INTERVAL, kind="run"),
        Line("An item in several runs, hardest first.", QUESTION_KEY | MATRIX_ITEM, kind="item"),
    ],
)

PLAN_GOAL = {
    "difference": Field("number", "Difference of two runs to detect.", is_optional=True),
    "half_width": Field("number|null", "Half of the width of the interval, in points."),
    "labels": Field("integer|null", "Number of labels that reach the goal, or null."),
    "with_judges": Field("integer|null", "Number of labels with several sources, or null."),
    "assumed": Field("boolean", "Whether the plan rests on assumptions before the first label."),
}
SAMPLE_COUNTS = {
    "drawn": Field("integer", "Number of drawn items."),
    "decided": Field("integer", "Number of items with a decision."),
    "unsure": Field("integer", "Number of items on which the verdict is unsure."),
    "skipped": Field("integer", "Number of skipped items."),
    "in_disagreement": Field("integer", "Number of items with an open disagreement."),
    "not_reviewed": Field("integer", "Number of items without a review."),
}
STRATUM = from_dataclass(
    SourceStratum,
    {
        "name": "Name of the stratum.",
        "n_items": "Number of items.",
        "n_reviewed": "Number of reviewed items.",
        "n_passed": "Number of reviewed items that pass.",
    },
)
SOURCE_CHOICE = {
    "used": Field("array", "Names of the automatic sources that the estimate uses."),
    "why": Field("string", "Reason for the choice."),
    "variance_ratio": Field("number|null", "Variance relative to that without sources, or null."),
    "strata": Field("array", "Strata by number of passing sources.", fields=STRATUM),
    "not_used": Field(
        "array",
        "Sources that are not used.",
        fields={
            "name": Field("string", "Name of the source."),
            "why": Field("string", "Why it is not used."),
        },
    ),
}
LABEL_AGREEMENT = from_dataclass(
    LabelAgreement,
    {
        "n_single": "Number of items that one annotator labelled.",
        "n_double": "Number of items that several annotators labelled.",
        "n_different": "Number of these items with different labels.",
        "n_repeated": "Number of items that an annotator labelled twice.",
        "n_changed": "Number of these items with a changed label.",
    },
)
ESTIMATE = CommandLines(
    version=1,
    lines=[
        Line(
            "A score of a run, or of several combined runs.",
            RUN_OR_MODEL
            | {"benchmark": DATASET["benchmark"]}
            | {name: METRIC[name] for name in ("table", "level", "name", "unit", "digits")}
            | {
                "automatic": Field("number|null", "Value from automatic verdicts, or null."),
                "corrected": Field("number|null", "Value from effective verdicts, or null."),
            }
            | ESTIMATED
            | INTERVAL
            | BOUNDS
            | {
                "n_random": Field("integer", "Number of reviewed items of random samples."),
                "n_known": Field("integer", "Number of items with a human verdict."),
                "method": Field("string", "How the value was found, such as posterior."),
                "sensitivity": Field(
                    "array|null", "Ends of the interval if 95 % of the labels are right, or null."
                ),
                "why": Field("string|null", "Why there is no interval, or null."),
                "needed": Field("integer|null", "Number of further reviews needed, or null."),
                "without_incidents": Field("boolean", "Whether incidents are left out."),
                "plan": Field("array", "Goals of --plan.", fields=PLAN_GOAL, is_optional=True),
                "sample": Field("object", "Counts of the drawn items.", fields=SAMPLE_COUNTS),
                "label_agreement": Field(
                    "object|null", "Counts of repeated labels, or null.", fields=LABEL_AGREEMENT
                ),
                "sources": Field(
                    "object|null",
                    "Choice of automatic sources; null with fewer than two.",
                    fields=SOURCE_CHOICE,
                ),
            },
        )
    ],
)

CALIBRATED = from_dataclass(
    Calibration,
    {
        "scope": "What the items have in common: overall, benchmark, category, tier, error,"
        " function.",
        "name": "Name of the group; null for all items.",
        "source": "Source of the automatic verdicts.",
        "judge": "Name of the judge, or null.",
        "criterion": "Criterion of the verdicts.",
        "binary": "Whether the verdicts are pass and fail.",
        "chosen": "How the items were chosen: random, by hand or both.",
        "n": "Number of items with both verdicts.",
        "n_random": "Number of these items in random samples.",
    },
)
SAID_AND_SETTLED = {
    "said": Field("", "The automatic verdict."),
    "settled": Field("", "The human verdict."),
}
WHERE = {"where": Field("string|null", "Filter that selects the items; null if none can.")}
CELL = SAID_AND_SETTLED | {"n": Field("integer", "Number of items.")} | WHERE
MEASURE = from_dataclass(
    CalibrationMeasure,
    {
        "metric": "agreement, tpr, tnr, precision, wrong_fails, f1 or kappa.",
        "value": "Value of the measure, or null.",
        "low": "Lower end of the 95 % interval, or null.",
        "high": "Upper end of the 95 % interval, or null.",
        "interval": "Method of the interval: wilson, bootstrap or stratified.",
        "n": "Number of items that the measure is about.",
    },
)
WEIGHTED = from_dataclass(
    WeightedMeasure,
    {
        "name": "Name of the measure.",
        "value": "Value of the measure, or null.",
        "low": "Lower end of the 95 % interval, or null.",
        "high": "Upper end of the 95 % interval, or null.",
    },
)
TRUST = from_dataclass(
    SourceTrust,
    {
        "source": "Source of the automatic verdicts.",
        "judge": "Name of the judge, or null.",
        "chosen": "How the items were chosen: random, by hand or both.",
        "n": "Number of reviewed items.",
        "agreement": "Share of equal verdicts, or null.",
        "tpr": "Share of passing items that the source passes, or null.",
        "tnr": "Share of failing items that the source fails, or null.",
        "bias": "Pass rate of the source minus that of people, from -1 to 1.",
        "labels_saved": "Share of labels that an estimate with this source saves.",
    },
)
TRUST_OF_SOURCE = {
    name: replace(each, fields=MEASURE) if name in ("agreement", "tpr", "tnr") else each
    for name, each in TRUST.items()
}
WEIGHTED_OF_SOURCE = {
    name: replace(TRUST[name], fields=WEIGHTED) for name in ("bias", "labels_saved")
}
JUDGES = from_dataclass(
    EffectiveNumber,
    {
        "n_judges": "Number of judges.",
        "value": "Number of independent judges that are as good.",
        "low": "Lower end of the 95 % interval.",
        "high": "Upper end of the 95 % interval.",
        "mean_correlation": "Mean correlation of the errors of two judges.",
        "n_items": "Number of reviewed items on which all judges have a verdict.",
    },
)
ERRORS = from_dataclass(
    ErrorGroup,
    {
        "source": "Source of the automatic verdicts.",
        "judge": "Name of the judge, or null.",
        "criterion": "Criterion of the verdicts.",
        "by": "What the errors have in common: category, error or function.",
        "name": "Name of the group.",
        "wrong": "Number of wrong verdicts.",
        "of": "Number of reviewed items of the group.",
    },
)
CALIBRATE = CommandLines(
    version=1,
    lines=[
        Line(
            "A source of verdicts on a criterion.",
            CALIBRATED
            | {
                "cells": Field("array", "Cells of the confusion matrix.", fields=CELL),
                "rates": Field("array", "Measures of the source.", fields=MEASURE),
            },
            kind="calibration",
        ),
        Line(
            "A source that judges whole items.",
            TRUST_OF_SOURCE | WEIGHTED_OF_SOURCE,
            kind="trust",
        ),
        Line("All judges together.", JUDGES, kind="judges"),
        Line("A group of frequent errors.", ERRORS | SAID_AND_SETTLED | WHERE, kind="wrong"),
    ],
)

ALTERNATIVE = {
    "answer": Field("string", "The competing answer."),
    "models": Field("array", "Models that gave it; empty if it follows from the golden answer."),
    "families": Field("array", "Families of these models."),
}
SUSPECT = {
    "rank": Field("integer", "Rank of the question, from 1."),
    "score": Field("number", "How wrong the golden answer looks, from 0 to 1."),
    "reasons": Field("array", "Reasons, strongest first."),
    "n_runs": Field("integer", "Number of runs with this question and golden answer."),
    "n_failing": Field("integer", "Number of these runs that fail."),
    "alternative": Field("object|null", "Competing answer, or null.", fields=ALTERNATIVE),
    "strong": Field("boolean", "Whether the score is 0.5 or more."),
    "same_question_as": Field(
        "integer|null", "Rank of an earlier line with the same question and answer, or null."
    ),
}
SIBLING_ANSWER = {
    "corrected": Field("boolean", "Whether annotators corrected the answer."),
    "same_function_docs": Field("boolean", "Whether the functions equal the reference's."),
    "items": Field("array", "Questions with this answer.", fields=QUESTION_KEY | RUN_NAME),
    "only_here": Field("array", "Calls that the reference lacks."),
    "missing_here": Field("array", "Calls that only the reference has."),
}
SIBLINGS = {
    "question": Field("string", "Text of the question."),
    "corrected": Field("boolean", "Whether one of the answers is corrected."),
    "answers": Field("array", "Different golden answers, reference first.", fields=SIBLING_ANSWER),
}
SUSPECTS = CommandLines(
    version=1,
    lines=[
        Line("A question whose golden answer looks wrong.", SUSPECT | QUESTION_KEY),
        Line("Siblings with different golden answers (--siblings).", SIBLINGS),
    ],
)

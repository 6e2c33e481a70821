"""Check whether the score of a run is real: what is missing, what failed, and by which rules it was
counted.

`check_run` turns the counts and facts of a run into lines. Commands, screens and reports show the
same lines.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

from fcreview.model.item import RunFact
from fcreview.model.wording import NO_VALUE, describe_error_type, format_count

LineName = Literal[
    "items",
    "incidents",
    "differences",
    "undecoded",
    "other_reply",
    "scored_twice",
    "dataset",
    "rules",
    "decoder",
    "judge_failed",
    "import_errors",
    "contradictions",
]
LineState = Literal["ok", "problem", "unknown"]
"""`unknown`: the run has nothing to check, such as a run without scores."""
STATE_MARKS: dict[LineState, str] = {"ok": "ok", "problem": "!", "unknown": NO_VALUE}
LINE_TITLES: dict[LineName, str] = {
    "items": "items",
    "incidents": "incidents",
    "differences": "recomputed vs official",
    "undecoded": "replies not decoded",
    "other_reply": "scores of other replies",
    "scored_twice": "items scored twice",
    "dataset": "dataset",
    "rules": "rules",
    "decoder": "decoder",
    "judge_failed": "judge failures",
    "import_errors": "errors on import",
    "contradictions": "contradictory reviews",
}
"""Title of each line, in the order of the table."""
INCIDENT_FILTER = "incident:any"
DIFFERENCE_FILTER = "(official:pass rule:fail) OR (official:fail rule:pass)"
UNDECODED_FILTER = "flag:undecoded"
OTHER_REPLY_FILTER = "flag:other_reply"
SCORED_TWICE_FILTER = "flag:scored_twice"
JUDGE_FAILED_FILTER = "flag:judge_failed"
CONTRADICTION_FILTER = "contradictory"


@dataclass(frozen=True, slots=True)
class CheckLimits:
    """From where on a count is a problem."""

    max_difference: float = 0.01
    """Share of items, from 0 to 1, that may have another recomputed verdict than the official one,
    and share of items whose replies may be undecoded.
    """
    max_incidents: int = 0


DEFAULT_LIMITS = CheckLimits()


@dataclass(frozen=True, slots=True)
class DifferenceGroup:
    """Items with the same official and recomputed verdict and the same error type."""

    official: bool
    rule: bool
    error_type: str
    """Error type of the verdict that fails; empty if it has none."""
    count: int

    @property
    def description(self) -> str:
        verdicts = f"official {_name_verdict(self.official)}, recomputed {_name_verdict(self.rule)}"
        reason = describe_error_type(self.error_type) or self.error_type
        return f"{verdicts}: {reason}" if reason else verdicts


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What a check counts in a run. Other values are in its facts."""

    n_items: int = 0
    n_not_run: int = 0
    n_expected: int | None = None
    """Number of items of the dataset; None if it is unknown."""
    n_incidents: int = 0
    incidents_by_kind: Mapping[str, int] = field(default_factory=dict)
    """The incidents that count, without limits and weak marks."""
    n_limits: int = 0
    n_weak: int = 0
    n_official: int = 0
    """Number of items with an official verdict, also from the headers of score files."""
    n_rule: int = 0
    """Number of items with a recomputed verdict."""
    n_judged: int = 0
    """Number of items with a verdict of a judge on the item or a part of it."""
    n_compared: int = 0
    """Number of items with an official and a recomputed verdict."""
    n_predicted: int = 0
    """Number of items with at least one predicted call."""
    differences: Sequence[DifferenceGroup] = ()
    """Groups of the items whose verdicts differ, the largest first."""
    n_undecoded: int = 0
    n_undecoded_with_equal_verdicts: int = 0
    """Number of undecoded replies whose official and recomputed verdicts are equal."""
    n_other_reply: int = 0
    n_scored_twice: int = 0
    n_judge_failed: int = 0
    n_reviewed: int = 0
    n_contradictory: int = 0
    """Number of items on which an annotator's own verdicts contradict each other."""
    n_import_errors: int = 0
    """Number of import issues with the severity `error`, which say that something was left out."""
    first_import_error: str = ""
    reason_without_rule: str = ""
    """The most frequent reason for which items have no recomputed verdict."""


@dataclass(frozen=True, slots=True)
class CheckedRun:
    """A run with everything that a check needs."""

    run: int
    run_name: str
    title: str
    """Benchmark with version and language: `BFCL V4`."""
    counts: RunCounts
    facts: Mapping[str, RunFact]
    dataset: str | None
    """Folder of the dataset."""
    needs_dataset: bool


@dataclass(frozen=True, slots=True)
class CheckLine:
    """One line of the check of a run."""

    name: LineName
    state: LineState
    detail: str
    """What was found, as a phrase.

    The text can contain names from the files, and is not sanitised.
    """
    count: int | None = None
    """Number of items that are a problem; None if the line does not count items."""
    expected: int | None = None
    """Number of items of which `count` is a part; None if the line does not count items."""
    where: str = ""
    """Filter that lists the items; empty if there are none to list."""

    @property
    def title(self) -> str:
        return LINE_TITLES[self.name]


@dataclass(frozen=True, slots=True)
class RunCheck:
    """The check of a run."""

    run: int
    run_name: str
    title: str
    lines: tuple[CheckLine, ...]

    @property
    def is_ok(self) -> bool:
        return not self.problems

    @property
    def problems(self) -> list[CheckLine]:
        return [line for line in self.lines if line.state == "problem"]

    @property
    def summary(self) -> str:
        """The problems in one line: `29 incidents, 397 of 400 items not run`.

        Empty without problems.
        """
        return ", ".join(_summarize_line(line) for line in self.problems)

    def as_json(self) -> dict[str, Any]:
        """Return the check of the run as `fcreview check --json` prints it."""
        return {
            "run": self.run,
            "run_name": self.run_name,
            "ok": self.is_ok,
            "lines": [
                {
                    "name": line.name,
                    "state": line.state,
                    "count": line.count,
                    "expected": line.expected,
                    "where": line.where,
                    "detail": line.detail,
                }
                for line in self.lines
            ],
        }


def summarize_problems(checks: Sequence[RunCheck]) -> str:
    """Return the problems of a single run, or the number of runs with a problem: `3 of 12 runs with
    a problem`. Empty without problems.
    """
    failing = [check for check in checks if not check.is_ok]
    if not failing:
        return ""
    if len(checks) == 1:
        return failing[0].summary
    return f"{len(failing):,} of {format_count(len(checks), 'run')} with a problem"


def sort_by_problems(checks: Sequence[RunCheck]) -> list[RunCheck]:
    """Return the checks, those of runs with problems first."""
    return sorted(checks, key=lambda check: check.is_ok)


def check_run(run: CheckedRun, limits: CheckLimits = DEFAULT_LIMITS) -> RunCheck:
    """Check a run. Every check has the same lines in the same order."""
    counts = run.counts
    lines = (
        _check_items(run),
        _check_incidents(counts, limits),
        _check_differences(counts, limits),
        _check_undecoded(counts, limits),
        _check_other_replies(run),
        _check_scored_twice(counts),
        _describe_dataset(run),
        _describe_rules(run),
        _describe_decoder(run),
        _check_judge(counts),
        _check_import_errors(counts),
        _check_contradictions(counts),
    )
    return RunCheck(run.run, run_name=run.run_name, title=run.title, lines=lines)


def _check_items(run: CheckedRun) -> CheckLine:
    """Check whether the run has all items that are expected, for example all of its dataset.

    The fact `expected_items` can give a reason why fewer are expected, such as a limit of the run.
    """
    counts = run.counts
    if counts.n_expected is None:
        n_items = format_count(counts.n_items, "item")
        detail = f"{n_items}; the expected number is unknown"
        return CheckLine("items", state="unknown", detail=detail)

    fact = run.facts.get("expected_items")
    scope = ""
    if fact is not None and fact.reason:
        scope = f" ({fact.reason})"

    state: LineState = "ok"
    detail = f"{counts.n_items:,} of {counts.n_expected:,}{scope}"
    if counts.n_not_run:
        state = "problem"
        detail = (
            f"{counts.n_not_run:,} of {counts.n_expected:,} items not run{scope}. List them with"
            " fcreview items --not-run"
        )
    return CheckLine(
        "items", state=state, detail=detail, count=counts.n_not_run, expected=counts.n_expected
    )


def _check_incidents(counts: RunCounts, limits: CheckLimits) -> CheckLine:
    """Check whether the run has more incidents, such as failed requests, than the limit allows.
    Used-up limits and empty replies are listed, but do not count.
    """
    kinds = [f"{count:,} {kind}" for kind, count in counts.incidents_by_kind.items()]
    detail = ", ".join(kinds) or "none"
    uncounted = []
    if counts.n_limits:
        uncounted.append(format_count(counts.n_limits, "used-up limit"))
    if counts.n_weak:
        uncounted.append(format_count(counts.n_weak, "empty reply", "empty replies"))
    if uncounted:
        detail += f"; not counted: {', '.join(uncounted)}"

    state: LineState = "problem" if counts.n_incidents > limits.max_incidents else "ok"
    return CheckLine(
        "incidents",
        state=state,
        detail=detail,
        count=counts.n_incidents,
        expected=counts.n_items,
        where=INCIDENT_FILTER if counts.n_incidents else "",
    )


def _check_differences(counts: RunCounts, limits: CheckLimits) -> CheckLine:
    """Check how many recomputed verdicts differ from the official ones, against the share that the
    limits allow.
    """
    if not counts.n_compared:
        return CheckLine("differences", state="unknown", detail=_explain_no_comparison(counts))

    n_different = sum(group.count for group in counts.differences)
    detail = f"{n_different:,} of {counts.n_compared:,} differ"
    if counts.differences:
        largest = counts.differences[0]
        detail += f"; largest group: {largest.count:,} × {largest.description}"

    max_different = limits.max_difference * counts.n_compared
    return CheckLine(
        "differences",
        state="problem" if n_different > max_different else "ok",
        detail=detail,
        count=n_different,
        expected=counts.n_compared,
        where=DIFFERENCE_FILTER if n_different else "",
    )


def _explain_no_comparison(counts: RunCounts) -> str:
    if not counts.n_official:
        return "no official verdicts"
    if not counts.n_rule:
        return "no recomputed verdicts"
    return "no item has both verdicts"


def _check_undecoded(counts: RunCounts, limits: CheckLimits) -> CheckLine:
    """Check in how many items no call could be decoded. Too many of them mean a wrong decoder."""
    if not counts.n_undecoded and not counts.n_predicted:
        return CheckLine("undecoded", state="unknown", detail="no calls")

    max_undecoded = limits.max_difference * counts.n_items
    return CheckLine(
        "undecoded",
        state="problem" if counts.n_undecoded > max_undecoded else "ok",
        detail=_describe_undecoded(counts),
        count=counts.n_undecoded,
        expected=counts.n_items,
        where=UNDECODED_FILTER if counts.n_undecoded else "",
    )


def _describe_undecoded(counts: RunCounts) -> str:
    """Return a text with the number of items without a decoded call. If the items have both
    verdicts, the text also says for how many of these items the official and the recomputed verdict
    are equal.
    """
    if not counts.n_undecoded:
        return "none"
    detail = f"{counts.n_undecoded:,} of {counts.n_items:,}"
    if not counts.n_compared:
        return detail
    # Equal verdicts suggest that the benchmark could not decode these replies either.
    n_equal = counts.n_undecoded_with_equal_verdicts
    return f"{detail}; official and recomputed verdict are equal for {n_equal:,} of them"


def _check_other_replies(run: CheckedRun) -> CheckLine:
    """Check whether score entries quote another reply than the result file contains.

    Such scores belong to another run of the model. If most entries are such, the importer has
    dropped all official verdicts. Then only the fact `scores_of_other_replies` has their number.
    """
    counts = run.counts
    fact = run.facts.get("scores_of_other_replies")
    if fact is not None and isinstance(fact.value, int) and fact.value > 0:
        detail = f"{fact.reason}, so the official verdicts are unknown"
        return _report_other_replies(counts, fact.value, detail)
    if counts.n_other_reply:
        entries = format_count(counts.n_other_reply, "score entry", "score entries")
        return _report_other_replies(counts, counts.n_other_reply, f"{entries} quote another reply")
    if not counts.n_official:
        return CheckLine("other_reply", state="unknown", detail="no official verdicts")
    return CheckLine("other_reply", state="ok", detail="none", count=0, expected=counts.n_items)


def _report_other_replies(counts: RunCounts, n_other: int, detail: str) -> CheckLine:
    """Return the line of a problem. `n_other`: number of scores that quote another reply."""
    return CheckLine(
        "other_reply",
        state="problem",
        detail=detail,
        count=n_other,
        expected=counts.n_items,
        where=OTHER_REPLY_FILTER if counts.n_other_reply else "",
    )


def _check_scored_twice(counts: RunCounts) -> CheckLine:
    """Check whether items have several score entries. Without official verdicts, there is nothing
    to check.
    """
    if counts.n_scored_twice:
        return CheckLine(
            "scored_twice",
            state="problem",
            detail=f"{format_count(counts.n_scored_twice, 'item')} with several score entries",
            count=counts.n_scored_twice,
            expected=counts.n_items,
            where=SCORED_TWICE_FILTER,
        )
    if not counts.n_official:
        return CheckLine("scored_twice", state="unknown", detail="no official verdicts")
    return CheckLine("scored_twice", state="ok", detail="none", count=0, expected=counts.n_items)


def _check_contradictions(counts: RunCounts) -> CheckLine:
    """Check whether annotators contradict themselves: their verdict on an item and on its parts."""
    if not counts.n_reviewed:
        return CheckLine("contradictions", state="unknown", detail="no reviews")
    if not counts.n_contradictory:
        return CheckLine(
            "contradictions", state="ok", detail="none", count=0, expected=counts.n_reviewed
        )

    n_items = format_count(counts.n_contradictory, "item")
    return CheckLine(
        "contradictions",
        state="problem",
        detail=f"an annotator's verdict on {n_items} contradicts their own other verdicts on it",
        count=counts.n_contradictory,
        expected=counts.n_reviewed,
        where=CONTRADICTION_FILTER,
    )


def _describe_dataset(run: CheckedRun) -> CheckLine:
    """Return the line that names the dataset and its version, if the run has a dataset."""
    if run.dataset is None:
        detail = "the results contain the questions"
        if run.needs_dataset:
            detail = "no dataset. Pass --data DIR"
        return CheckLine("dataset", state="unknown", detail=detail)

    detail = run.dataset
    fact = run.facts.get("dataset_version")
    if fact is not None and fact.value:
        detail = f"{fact.value}, {detail}"
    if fact is not None and fact.reason:
        detail = f"{detail} ({fact.reason})"
    return CheckLine("dataset", state="ok", detail=detail)


def _describe_rules(run: CheckedRun) -> CheckLine:
    """Return the line that says by which rules verdicts were recomputed, or why there are none."""
    fact = run.facts.get("evaluator")
    if fact is not None:
        return CheckLine("rules", state="ok", detail=_describe_choice(fact))
    if run.counts.n_rule:
        return CheckLine("rules", state="ok", detail=f"rules of {run.title}")

    detail = "no recomputed verdicts"
    if run.counts.reason_without_rule:
        detail = f"{detail}: {run.counts.reason_without_rule}"
    return CheckLine("rules", state="unknown", detail=detail)


def _describe_decoder(run: CheckedRun) -> CheckLine:
    """Report which decoder reads the calls of a run, and why."""
    fact = run.facts.get("decoder")
    if fact is None:
        return CheckLine(
            "decoder", state="unknown", detail="the files contain the calls in one form"
        )
    return CheckLine("decoder", state="ok", detail=_describe_choice(fact))


def _describe_choice(fact: RunFact) -> str:
    return f"{fact.value}: {fact.reason}" if fact.reason else str(fact.value)


def _check_judge(counts: RunCounts) -> CheckLine:
    """Check on how many items a judge or scorer failed, so that they have no verdict."""
    if counts.n_judge_failed:
        n_items = format_count(counts.n_judge_failed, "item")
        return CheckLine(
            "judge_failed",
            state="problem",
            detail=f"a judge or scorer gave no verdict on {n_items}",
            count=counts.n_judge_failed,
            expected=counts.n_items,
            where=JUDGE_FAILED_FILTER,
        )
    if not counts.n_judged:
        return CheckLine("judge_failed", state="unknown", detail="no judge verdicts")
    return CheckLine("judge_failed", state="ok", detail="none", count=0, expected=counts.n_items)


def _check_import_errors(counts: RunCounts) -> CheckLine:
    """Return the line with the number of import errors, and the first of them."""
    if not counts.n_import_errors:
        return CheckLine("import_errors", state="ok", detail="none", count=0)
    detail = (
        f"{counts.n_import_errors:,}, such as: {counts.first_import_error}. List them with fcreview"
        " import --json"
    )
    return CheckLine("import_errors", state="problem", detail=detail, count=counts.n_import_errors)


def _summarize_line(line: CheckLine) -> str:
    """Summarise the problem of a line in a few words, for a list of problems."""
    count = line.count or 0
    match line.name:
        case "items":
            return f"{count:,} of {line.expected or 0:,} items not run"
        case "incidents":
            return format_count(count, "incident")
        case "differences":
            return f"{count:,} of {line.expected or 0:,} recomputed verdicts differ"
        case "undecoded":
            return f"{format_count(count, 'reply', 'replies')} not decoded"
        case "other_reply":
            return format_count(count, "score of another reply", "scores of other replies")
        case "scored_twice":
            return f"{format_count(count, 'item')} scored twice"
        case "judge_failed":
            return format_count(count, "judge failure")
        case "import_errors":
            return format_count(count, "error on import", "errors on import")
        case "contradictions":
            return f"contradictory reviews of {format_count(count, 'item')}"
        case _:
            return line.title


def _name_verdict(verdict: bool) -> str:
    return "pass" if verdict else "fail"

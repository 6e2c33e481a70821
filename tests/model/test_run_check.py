"""Each line of a check says whether a score is real."""

from __future__ import annotations

from typing import Any

import pytest

from fcreview.model.item import RunFact
from fcreview.model.run_check import (
    DIFFERENCE_FILTER,
    LINE_TITLES,
    CheckedRun,
    CheckLimits,
    CheckLine,
    DifferenceGroup,
    LineName,
    RunCounts,
    check_run,
    sort_by_problems,
    summarize_problems,
)

CLEAN: dict[str, Any] = {
    "n_items": 400,
    "n_expected": 400,
    "n_official": 400,
    "n_rule": 400,
    "n_judged": 400,
    "n_compared": 400,
    "n_predicted": 400,
    "n_reviewed": 400,
}
WRONG_VALUE = DifferenceGroup(official=False, rule=True, error_type="value_error:string", count=3)
WRONG_TYPE = DifferenceGroup(official=True, rule=False, error_type="type_error:simple", count=2)


def make_run(
    *facts: RunFact, dataset: str | None = "/data", needs_dataset: bool = True, **counts: Any
) -> CheckedRun:
    return CheckedRun(
        run=1,
        run_name="oak",
        title="BFCL V4",
        counts=RunCounts(**{**CLEAN, **counts}),
        facts={fact.name: fact for fact in facts},
        dataset=dataset,
        needs_dataset=needs_dataset,
    )


def find_line(name: LineName, run: CheckedRun, limits: CheckLimits | None = None) -> CheckLine:
    check = check_run(run, limits or CheckLimits())
    assert [line.name for line in check.lines] == list(LINE_TITLES), (
        "every check has the same lines"
    )
    return next(line for line in check.lines if line.name == name)


def test_a_clean_run_is_ok() -> None:
    check = check_run(make_run(RunFact("decoder", "FC", "listed")))
    assert check.is_ok and check.summary == ""
    assert {line.state for line in check.lines} == {"ok"}
    assert all(line.where == "" for line in check.lines), "there are no items to list"


@pytest.mark.parametrize(
    ("name", "counts", "count", "expected", "where", "summary"),
    [
        ("items", {"n_not_run": 397, "n_items": 3}, 397, 400, "", "397 of 400 items not run"),
        (
            "incidents",
            {"n_incidents": 29, "incidents_by_kind": {"rate_limit": 20, "timeout": 9}},
            29,
            400,
            "incident:any",
            "29 incidents",
        ),
        (
            "differences",
            {"differences": [WRONG_VALUE, WRONG_TYPE]},
            5,
            400,
            DIFFERENCE_FILTER,
            "5 of 400 recomputed verdicts differ",
        ),
        ("undecoded", {"n_undecoded": 5}, 5, 400, "flag:undecoded", "5 replies not decoded"),
        (
            "other_reply",
            {"n_other_reply": 1},
            1,
            400,
            "flag:other_reply",
            "1 score of another reply",
        ),
        (
            "scored_twice",
            {"n_scored_twice": 2},
            2,
            400,
            "flag:scored_twice",
            "2 items scored twice",
        ),
        ("judge_failed", {"n_judge_failed": 1}, 1, 400, "flag:judge_failed", "1 judge failure"),
        (
            "contradictions",
            {"n_reviewed": 30, "n_contradictory": 2},
            2,
            30,
            "contradictory",
            "contradictory reviews of 2 items",
        ),
    ],
)
def test_a_count_above_its_limit_is_a_problem(
    name: LineName, counts: dict[str, Any], count: int, expected: int, where: str, summary: str
) -> None:
    run = make_run(**counts)
    line = find_line(name, run)
    assert (line.state, line.count, line.expected, line.where) == (
        "problem",
        count,
        expected,
        where,
    )
    check = check_run(run)
    assert not check.is_ok and check.problems == [line]
    assert check.summary == summary


def test_an_error_on_import_is_a_problem() -> None:
    run = make_run(n_import_errors=2, first_import_error="line 3 is not JSON")
    line = find_line("import_errors", run)
    assert (line.state, line.count, line.where) == ("problem", 2, "")
    assert line.detail.startswith("2, such as: line 3 is not JSON")
    assert check_run(run).summary == "2 errors on import"


def test_all_problems_are_in_the_summary() -> None:
    check = check_run(
        make_run(n_items=3, n_not_run=397, n_incidents=2, incidents_by_kind={"server": 2})
    )
    assert check.summary == "397 of 400 items not run, 2 incidents"


@pytest.mark.parametrize(("count", "state"), [(4, "ok"), (5, "problem")])
@pytest.mark.parametrize("name", ["differences", "undecoded"])
def test_one_percent_of_differences_and_undecoded_replies_is_allowed(
    name: LineName, count: int, state: str
) -> None:
    group = DifferenceGroup(official=True, rule=False, error_type="", count=count)
    counts = {"differences": [group]} if name == "differences" else {"n_undecoded": count}
    line = find_line(name, make_run(**counts))
    assert (line.state, line.count) == (state, count)
    assert line.where, "the filter is shown even if the line is ok"


def test_limits_can_be_chosen() -> None:
    run = make_run(n_incidents=3, incidents_by_kind={"server": 3}, differences=[WRONG_VALUE])
    assert find_line("incidents", run, CheckLimits(max_incidents=3)).state == "ok"
    assert find_line("incidents", run, CheckLimits(max_incidents=2)).state == "problem"
    assert find_line("differences", run, CheckLimits(max_difference=0)).state == "problem"
    assert find_line("differences", run, CheckLimits(max_difference=1)).state == "ok"


def test_weak_marks_and_limits_are_named_but_do_not_count() -> None:
    line = find_line("incidents", make_run(n_limits=3, n_weak=1))
    assert (line.state, line.count) == ("ok", 0)
    assert line.detail == "none; not counted: 3 used-up limits, 1 empty reply"


def test_kinds_of_incidents_are_listed() -> None:
    counts = {"n_incidents": 29, "incidents_by_kind": {"rate_limit": 20, "timeout": 9}}
    assert find_line("incidents", make_run(**counts)).detail == "20 rate_limit, 9 timeout"


def test_the_largest_group_of_differences_is_named() -> None:
    detail = find_line("differences", make_run(differences=[WRONG_VALUE, WRONG_TYPE])).detail
    assert detail.startswith("5 of 400 differ; largest group: 3 × official fail, recomputed pass: ")


def test_undecoded_replies_name_how_many_verdicts_are_equal() -> None:
    line = find_line("undecoded", make_run(n_undecoded=50, n_undecoded_with_equal_verdicts=48))
    assert line.detail == "50 of 400; official and recomputed verdict are equal for 48 of them"


@pytest.mark.parametrize(
    ("name", "counts", "detail"),
    [
        ("items", {"n_expected": None}, "400 items; the expected number is unknown"),
        ("differences", {"n_compared": 0, "n_official": 0}, "no official verdicts"),
        ("differences", {"n_compared": 0, "n_rule": 0}, "no recomputed verdicts"),
        ("differences", {"n_compared": 0}, "no item has both verdicts"),
        ("undecoded", {"n_predicted": 0}, "no calls"),
        ("other_reply", {"n_official": 0}, "no official verdicts"),
        ("scored_twice", {"n_official": 0}, "no official verdicts"),
        (
            "rules",
            {"n_rule": 0, "reason_without_rule": "a judge decides"},
            "no recomputed verdicts: a judge decides",
        ),
        ("judge_failed", {"n_judged": 0}, "no judge verdicts"),
        ("contradictions", {"n_reviewed": 0}, "no reviews"),
    ],
)
def test_what_cannot_be_checked_is_no_problem(
    name: LineName, counts: dict[str, Any], detail: str
) -> None:
    run = make_run(**counts)
    line = find_line(name, run)
    assert (line.state, line.detail) == ("unknown", detail)
    assert check_run(run).is_ok


def test_scores_of_other_replies_count_by_the_fact() -> None:
    """The importer drops official verdicts if most entries quote other replies."""
    fact = RunFact(
        "scores_of_other_replies",
        873,
        "873 of 900 failing score entries with a result quote another reply",
    )
    line = find_line("other_reply", make_run(fact, n_official=0))
    assert (line.state, line.count) == ("problem", 873)
    assert line.detail.endswith("so the official verdicts are unknown")


def test_choices_are_shown_with_their_reasons() -> None:
    run = make_run(
        RunFact("dataset_version", "V4", "chosen by --data"),
        RunFact("evaluator", "2025-10", "agrees with 40 of 40 score entries"),
        RunFact("decoder", "FC", "the name matches"),
        RunFact("expected_items", 400, "1 of 22 categories of the dataset"),
    )
    assert find_line("dataset", run).detail == "V4, /data (chosen by --data)"
    assert find_line("rules", run).detail == "2025-10: agrees with 40 of 40 score entries"
    assert find_line("decoder", run).detail == "FC: the name matches"
    assert find_line("items", run).detail == "400 of 400 (1 of 22 categories of the dataset)"


def test_a_missing_dataset_is_unknown() -> None:
    line = find_line("dataset", make_run(dataset=None))
    assert line.state == "unknown" and "--data DIR" in line.detail
    line = find_line("dataset", make_run(dataset=None, needs_dataset=False))
    assert line.state == "unknown" and "--data" not in line.detail


def test_json_has_a_line_for_each_check() -> None:
    value = check_run(make_run(n_incidents=2, incidents_by_kind={"server": 2})).as_json()
    assert {name: value[name] for name in ("run", "run_name", "ok")} == {
        "run": 1,
        "run_name": "oak",
        "ok": False,
    }
    assert [line["name"] for line in value["lines"]] == list(LINE_TITLES)
    assert value["lines"][1] == {
        "name": "incidents",
        "state": "problem",
        "count": 2,
        "expected": 400,
        "where": "incident:any",
        "detail": "2 server",
    }


def test_problems_of_several_runs_are_summarised() -> None:
    clean = check_run(make_run())
    failing = check_run(make_run(n_incidents=2, incidents_by_kind={"server": 2}))
    assert summarize_problems([clean]) == summarize_problems([clean, clean]) == ""
    assert summarize_problems([failing]) == "2 incidents"
    assert summarize_problems([clean, failing]) == "1 of 2 runs with a problem"
    assert sort_by_problems([clean, failing]) == [failing, clean]

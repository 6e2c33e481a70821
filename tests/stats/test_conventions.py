"""Metrics of one run by the conventions of each tool. Every expected value is computed by hand."""

from __future__ import annotations

import pytest

from fcreview.stats.conventions import (
    ConventionRow,
    Trial,
    TrialTable,
    add_values_without_incidents,
    compare_conventions,
    find_spreads,
    format_convention_without_incidents,
)


def find_row(rows: list[ConventionRow], figure: str, convention: str) -> ConventionRow:
    return next(row for row in rows if row.figure == figure and convention in row.convention)


def test_one_success_in_all_trials() -> None:
    """tau2-bench omits tasks whose trials are all infrastructure errors from the denominator."""
    trials = [
        Trial("a0", "a", True),
        Trial("b0", "b", False, "not run"),
        Trial("c0", "c", False, "not run"),
    ]
    rows = compare_conventions(TrialTable(trials, "tau2-bench", planned=1))
    own, harbor = find_row(rows, "accuracy", "tau2-bench"), find_row(rows, "accuracy", "Harbor")
    assert (own.value, own.n, own.n_tasks, own.items) == (1.0, 1, 1, ("b0", "c0"))
    assert own.note == "2 of 3 tasks have no counted trial"
    assert (harbor.value, harbor.items) == (pytest.approx(1 / 3), ("b0", "c0"))
    (spread,) = find_spreads(rows)
    assert (spread.low, spread.high) == (pytest.approx(1 / 3), 1.0)


def test_task_with_fewest_trials_limits_k() -> None:
    trials = [Trial(f"a{n}", "a", True) for n in range(2)] + [
        Trial("b0", "b", True),
        Trial("b1", "b", False, "not run"),
    ]
    rows = compare_conventions(TrialTable(trials, "tau2-bench", planned=2))
    own = find_row(rows, "pass^2", "tau2-bench")
    assert (own.value, own.note, own.items) == (None, "b has 1 of 2 trials", ("b0", "b1"))
    planned = find_row(rows, "pass^2", "planned trials")
    assert (planned.value, planned.items) == (0.5, ("b1",))


def test_errors_are_failures_or_omitted() -> None:
    trials = [Trial("a0", "a", True), Trial("a1", "a", False, "error"), Trial("b0", "b", False)]
    rows = compare_conventions(TrialTable(trials, "tau-bench v1"))
    assert find_row(rows, "accuracy", "tau-bench v1").value == pytest.approx(1 / 3)
    assert find_row(rows, "accuracy", "errors left out").value == pytest.approx(1 / 2)
    assert find_row(rows, "accuracy", "errors left out").items == ("a1",)
    assert find_row(rows, "pass^1", "tau-bench v1").value == pytest.approx((1 / 2 + 0 / 2) / 2)


def test_accuracy_is_a_mean_over_trials_or_tasks() -> None:
    trials = [Trial(f"a{n}", "a", True) for n in range(3)] + [Trial("b0", "b", False)]
    rows = compare_conventions(TrialTable(trials, "Inspect"))
    by_task, by_trial = find_row(rows, "accuracy", "Inspect"), find_row(rows, "accuracy", "Harbor")
    assert (by_task.value, by_trial.value) == (0.5, 0.75)
    assert by_trial.items == ("b0",), "the item of the task with fewer trials than others"


def test_missing_trials_use_actual_or_planned_count() -> None:
    trials = [Trial("a0", "a", True), Trial("a1", "a", False), Trial("b0", "b", True)]
    rows = compare_conventions(TrialTable(trials, "tau-bench v1", planned=4))
    assert find_row(rows, "pass^1", "tau-bench v1").value == pytest.approx((1 / 2 + 1 / 2) / 2)
    assert find_row(rows, "pass@2", "tau-bench v1").value == pytest.approx((1 + 1) / 2)
    assert find_row(rows, "pass^1", "Harbor").value == pytest.approx((1 / 2 + 1) / 2)
    assert find_row(rows, "pass^2", "Harbor").value is None
    planned = [
        find_row(rows, figure, "planned trials") for figure in ("accuracy", "pass^1", "pass@2")
    ]
    assert [row.value for row in planned] == pytest.approx([2 / 8, 1 / 4, 1 - 3 / 6])
    assert [row.n for row in planned] == [8] * 3


def test_extra_trials_do_not_raise_k() -> None:
    trials = [Trial(f"{task}{n}", task, True) for task in "ab" for n in range(3)]
    rows = compare_conventions(TrialTable(trials, "tau2-bench", planned=2))
    assert {row.figure for row in rows} == {"accuracy", "pass^1", "pass^2", "pass@2"}


def test_tool_without_repeats_has_no_convention() -> None:
    trials = [Trial("a0", "a", True), Trial("a1", "a", False)]
    assert not any(
        "BFCL" in row.convention for row in compare_conventions(TrialTable(trials, "Inspect"))
    )


def test_equal_conventions_share_a_row() -> None:
    rows = compare_conventions(
        TrialTable([Trial("a0", "a", True), Trial("b0", "b", False)], "Inspect")
    )
    assert [(row.figure, row.convention, row.value) for row in rows] == [
        ("accuracy", "Inspect and all other conventions", 0.5)
    ]
    assert compare_conventions(TrialTable([], "Inspect"))[0].value is None


def test_trial_that_was_left_out_as_incident_is_no_failure_of_its_task() -> None:
    trials = [
        Trial("a_1", "a", passed=True),
        Trial("a_2", "a", passed=False),
        Trial("b_1", "b", passed=True),
        Trial("b_2", "b", passed=True),
    ]
    rows = compare_conventions(TrialTable(trials, "tau-bench v1"))
    answered = TrialTable([trial for trial in trials if trial.item != "a_2"], "tau-bench v1")
    found = {
        row.figure: row
        for row in add_values_without_incidents(rows, answered, n_incidents=1)
        if row.is_own
    }
    assert (found["pass^1"].value, found["pass^1"].value_without_incidents) == (0.75, 1.0)
    assert found["accuracy"].n_without_incidents == 3
    assert found["pass^2"].value_without_incidents is None, "task a has only one trial"
    nothing = add_values_without_incidents(rows, None, n_incidents=4)
    assert {row.n_without_incidents for row in nothing} == {0}
    assert format_convention_without_incidents(found["pass^1"]) == "100.00 % (3)"
    assert format_convention_without_incidents(found["pass^2"]) == "–"
    assert format_convention_without_incidents(nothing[0]) == "no item has an answer"

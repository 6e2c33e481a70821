"""The estimates screen shows accuracy, sample, advice and a form."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fcreview.model.metric import OwnScore
from fcreview.stats.estimation import MetricEstimate, PassRateEstimate
from fcreview.tables.queues import ShareProgress
from fcreview.tui.commands import FormField, add_run_name_choices, build_command_arguments
from fcreview.tui.figures.estimates import (
    accuracy_range_line,
    build_accuracy_figure,
    estimate_meaning_line,
    next_step_line,
    sample_lines,
)
from fcreview.tui.figures.run_sample import OutcomeCounts, RunSample
from fcreview.tui.figures.sampling_form import (
    build_sampling_form_defaults,
    choose_sampling_command,
    expected_interval_line,
    fill_and_order_fields,
)
from fcreview.tui.queue.loader import KnownAnnotator
from fcreview.tui.queue_state import QueueProgress
from fcreview.tui.screens.annotators import format_sample_annotators
from fcreview.tui.text.lines import line_width, plain_text
from fcreview.tui.text.tables import lay_out_figure
from tests.tui.text.test_format import run_row

ESTIMATE = PassRateEstimate(0.753, 0.729, 0.777, 64)
RUNS = [
    run_row("gpt-4o", run=1, n_items=2070, official_pass=1492, official_known=2070),
    run_row("maple-8b", run=2, n_items=100, official_known=99),
]
KEYS = {
    "estimates.draw": "enter",
    "estimates.review": "r",
    "estimates.adjudicate": "x",
    "estimates.metrics": "m",
}


def queue_progress(annotator: str, done: int, total: int = 50) -> QueueProgress:
    return QueueProgress("pilot", ShareProgress(annotator, done, total, 0))


def make_sample(**fields: Any) -> RunSample:
    outcomes = [OutcomeCounts(True, 1492, 60, 57, 1, 2), OutcomeCounts(False, 578, 100, 96, 1, 2)]
    known = {
        "estimate": ESTIMATE,
        "outcomes": outcomes,
        "queues": [queue_progress("alice", 50), queue_progress("bob", 50)],
    }
    return RunSample(1, **{**known, **fields})


@pytest.mark.parametrize("cells", [58, 78, 114, 154])
def test_accuracy_has_official_rate_interval_and_needed_labels(cells: int) -> None:
    figure = build_accuracy_figure(RUNS, {1: make_sample()}, frozenset({2}), {})
    heading, (first, second) = lay_out_figure(figure, cells)
    assert all(line_width(line) <= cells for line in (heading, first, second))
    text = plain_text(first)
    assert text.split()[:5] == ["gpt-4o", "72.1", "%", "75.3", "%"] and text.endswith("64 labels")
    assert "[72.9, 77.7]" in text and ("●" in text) == ("┃" in text) == (cells > 75)
    assert "–" in plain_text(second) and "reading" in plain_text(second)


def test_undecided_items_give_a_range() -> None:
    bounds = replace(ESTIMATE, bounds=(0.718, 0.79), n_undecided=6)
    assert plain_text(accuracy_range_line(make_sample(estimate=bounds))) == (
        "71.8 to 79.0 %, depending on 6 undecided items"
    )
    headline = make_sample(estimate=replace(bounds, is_bounds_headline=True))
    assert plain_text(accuracy_range_line(headline)) == (
        "Only a range is known, because 6 undecided items may pass or fail"
    )
    figure = build_accuracy_figure(RUNS, {1: headline}, frozenset(), {})
    assert "71.8 to 79.0 %" in figure.rows[0].texts


def test_estimates_lead_with_the_benchmarks_own_metric() -> None:
    own = OwnScore(
        "overall accuracy", value=0.3971, unit="share", digits=2, table="accuracy", name="overall"
    )
    figure = build_accuracy_figure(RUNS, {1: make_sample()}, frozenset(), {1: own})
    titles = ["run", "overall accuracy", "items passed", "passed, est. [95 %]"]
    assert figure.titles[:4] == titles
    assert figure.rows[0].texts[:3] == ["gpt-4o", "39.71 %", "72.1 %"]
    lines = lay_out_figure(figure, 78)
    assert all(line_width(line) <= 78 for line in (lines.heading, *lines.rows))


OWN = OwnScore("overall accuracy", 0.4, "share", digits=2, table="accuracy", name="overall")
OWN_ESTIMATE = MetricEstimate(
    "accuracy",
    level=0,
    name="overall",
    unit="share",
    digits=2,
    automatic=0.4,
    corrected=0.41,
    estimated=0.42,
    low=0.36,
    high=0.48,
    n_random=50,
    n_known=50,
    method="posterior",
    needed=235,
)


@pytest.mark.parametrize("cells", [78, 154])
def test_interval_and_labels_are_of_the_own_metric_if_it_is_estimated(cells: int) -> None:
    sample = make_sample(own_estimate=OWN_ESTIMATE)
    figure = build_accuracy_figure(RUNS, {1: sample}, frozenset(), {1: OWN})
    titles = ["run", "overall accuracy", "estimated [95 %]", "for ±2", "items passed"]
    assert figure.titles[:5] == titles
    assert figure.rows[0].texts[2:4] == ["42.00 % [36.00, 48.00]", "235 labels"]
    lines = lay_out_figure(figure, cells)
    assert "42.00 % [36.00, 48.00]" in plain_text(lines.rows[0])
    assert all(line_width(line) <= cells for line in (lines.heading, *lines.rows))

    reviewed = replace(sample, outcomes=[OutcomeCounts(True, 2070, 160, 160, 0, 0)])
    assert "draw 235 more" in plain_text(next_step_line(reviewed, "alice", {}))
    defaults = build_sampling_form_defaults("queue extend", RUNS[0], sample, "alice", [])
    assert defaults["size"] == "235"
    expected = expected_interval_line({"size": "235"}, RUNS[0], sample)
    assert "about ± 2.0 points" in plain_text(expected)


def test_own_metric_that_is_being_estimated_promises_nothing() -> None:
    sample = make_sample(is_estimating_own=True)
    figure = build_accuracy_figure(RUNS, {1: sample}, frozenset(), {1: OWN})
    assert figure.rows[0].texts[2:4] == ["estimating", ""]
    reviewed = replace(sample, outcomes=[OutcomeCounts(True, 2070, 160, 160, 0, 0)])
    assert plain_text(next_step_line(reviewed, "alice", {})) == (
        "All drawn items are reviewed. Estimating the benchmark's own metric ..."
    )


def test_own_metric_without_an_estimate_says_why() -> None:
    without_interval = replace(OWN_ESTIMATE, estimated=None, low=None, high=None, needed=None)
    outcomes = [OutcomeCounts(True, 2070, 160, 160, 0, 0)]
    sample = make_sample(own_estimate=without_interval, outcomes=outcomes)
    assert plain_text(estimate_meaning_line(sample, OWN, RUNS[0])) == (
        "Estimated: items passed. overall accuracy: too few reviewed items in categories"
    )
    assert plain_text(next_step_line(sample, "alice", KEYS)) == (
        "All drawn items are reviewed. For an estimate of the benchmark's own metric, draw more:"
        " press enter"
    )


def test_meaning_of_estimate_names_its_figure_and_reviews_that_were_not_blind() -> None:
    sample = make_sample(own_estimate=OWN_ESTIMATE, n_seen_reviews=50)
    line = plain_text(estimate_meaning_line(sample, OWN, RUNS[0]))
    assert line.startswith("Estimated: overall accuracy. items passed: 72.1 %, estimated ")
    assert line.endswith("] · 50 reviews not blind")
    line = plain_text(estimate_meaning_line(make_sample(), None, RUNS[0]))
    assert line == "Estimated: items passed"
    assert not estimate_meaning_line(make_sample(estimate=None), OWN, RUNS[0])


def test_form_promises_the_target_for_the_labels_that_the_advice_names() -> None:
    sample = make_sample()
    advice = plain_text(next_step_line(sample, "alice", {}))
    assert ESTIMATE.needed == 64 and advice
    texts = []
    for size in ("63", "64"):
        texts.append(plain_text(expected_interval_line({"size": size}, RUNS[0], sample)))
    assert texts[1] == "expected: about ± 2.0 points"
    assert float(texts[0].split()[3]) >= 2.0


@pytest.mark.parametrize("cells", [40, 56, 80])
def test_sample_lists_outcomes_and_progress_of_annotators(cells: int) -> None:
    lines = [plain_text(line) for line in sample_lines(make_sample(), cells)]
    assert lines[0].split() == ["automatic", "items", "drawn", "decided", "unsure", "open"]
    assert lines[1].replace("━", "").replace("─", "").split() == [
        "pass",
        "1,492",
        "60",
        "57",
        "1",
        "2",
    ]
    assert "pilot · bob" in lines[4] and "50 / 50" in lines[4]
    assert [
        plain_text(line) for line in sample_lines(RunSample(1, problems=["queue a: gone"]), cells)
    ] == [
        "no sample yet",
        "queue a: gone",
    ]


def test_advice_follows_the_state_of_the_sample() -> None:
    undrawn = replace(make_sample(), outcomes=())
    solved = replace(make_sample(), outcomes=[OutcomeCounts(True, 9, 9, 9, 0, 0)])
    waiting = replace(
        make_sample(),
        outcomes=solved.outcomes,
        queues=[queue_progress("alice", 50), queue_progress("bob", 20)],
    )
    advice = [
        plain_text(next_step_line(each, "alice", KEYS))
        for each in (
            undrawn,
            replace(make_sample(), queues=[queue_progress("alice", 20)]),
            make_sample(),
            waiting,
            solved,
            replace(solved, estimate=replace(ESTIMATE, needed=0)),
            replace(solved, estimate=None),
            replace(solved, outcomes=[OutcomeCounts(True, 30_000, 9, 9, 0, 0)]),
        )
    ]
    assert advice == [
        "No sample yet. Fill in the form to draw one: press enter",
        "Review your 30 items of pilot: press r",
        "Resolve 4 disagreements: press x",
        "bob has 30 items left. To review as bob: press r",
        "All drawn items are reviewed. For ± 2 points, draw 64 more: press enter",
        "The estimate is accurate to ± 2 points",
        "The sample covers only part of the run. Draw one from the whole run: press enter",
        "The run has more than 20,000 items. Estimate it: press m",
    ]


def test_form_creates_or_extends_a_sample() -> None:
    assert (
        choose_sampling_command(None)
        == choose_sampling_command(make_sample(estimate=None))
        == "queue create"
    )
    assert choose_sampling_command(make_sample()) == "queue extend"
    first = build_sampling_form_defaults(
        "queue create", RUNS[0], None, "alice", ["sample", "sample-2"]
    )
    assert first["name"] == "sample-3" and first["size"] == "50" and first["stratify"] == "official"
    assert (
        build_sampling_form_defaults("queue create", RUNS[1], None, "alice", [])["stratify"] == ""
    )
    more = build_sampling_form_defaults("queue extend", RUNS[0], make_sample(), "alice", [])
    assert more == {"name": "pilot", "size": "64", "run": "1"}
    fields = [
        FormField("name"),
        FormField("where"),
        FormField("overlap"),
        FormField("size", default="9"),
    ]
    assert [(each.name, each.default) for each in fill_and_order_fields(fields, first)][:2] == [
        ("size", "50"),
        ("overlap", "10"),
    ]


def test_form_shows_expected_interval_and_work() -> None:
    values = {"size": "50", "annotators": "alice, bob", "overlap": "10"}
    assert (
        plain_text(expected_interval_line(values, RUNS[0], None))
        == "expected: at most ± 14 points, 30 items each"
    )
    assert (
        plain_text(expected_interval_line({"size": "150"}, RUNS[0], make_sample()))
        == "expected: about ± 1.7 points"
    )
    assert not expected_interval_line(
        {"size": "many"}, RUNS[0], None
    ) and not expected_interval_line({"size": "9999"}, RUNS[0], None)


def test_form_names_runs_as_the_list_does_and_passes_their_numbers() -> None:
    fields = add_run_name_choices(
        [FormField("run", "--run", "2", "number or model"), FormField("size", "--size")],
        {1: "maple", 2: "maple-FC"},
    )
    assert fields[0].default == "maple-FC" and not fields[1].choices
    assert fields[0].help_with_choices.startswith(
        "run: maple, maple-FC. Right arrow completes a name"
    )
    assert build_command_arguments(fields, ["maple", "9"]) == ["--run=1", "--size=9", "--"]
    assert build_command_arguments(fields, ["other", ""]) == ["--run=other", "--"]


def test_new_sample_is_for_the_annotators_of_the_workspace() -> None:
    assert format_sample_annotators([], "alice") == "alice"
    assert format_sample_annotators([KnownAnnotator("bob")], "alice") == "alice, bob"
    assert format_sample_annotators([KnownAnnotator(name) for name in "bcdefg"], "alice") == "alice"


def test_form_draws_no_more_items_than_are_left() -> None:
    outcomes = [OutcomeCounts(True, 60, 30, 30, 0, 0), OutcomeCounts(False, 40, 30, 30, 0, 0)]
    sample = make_sample(outcomes=outcomes)
    form = build_sampling_form_defaults("queue extend", RUNS[1], sample, "alice", [])
    assert sample.n_needed == 64 and form["size"] == "40"

    run = replace(RUNS[1], n_items=104)
    all_items = plain_text(expected_interval_line({"size": "100"}, run, sample))
    assert all_items == plain_text(expected_interval_line({"size": "40"}, run, sample)) != ""


def test_names_of_runs_stay_different_in_a_narrow_table() -> None:
    names = [f"claude-3-{version}-sonnet-20240620-FC" for version in (5, 7)]
    runs = [run_row(name, run=number, n_items=100) for number, name in enumerate(names, 1)]
    samples = {run.run: make_sample() for run in runs}
    figure = build_accuracy_figure(runs, samples, frozenset(), {1: OWN, 2: OWN})
    lines = [plain_text(line) for line in lay_out_figure(figure, 74).rows]
    shown = [line.split()[0] for line in lines]
    assert len(set(shown)) == 2 and all("…" in name for name in shown), shown
    assert all(line.endswith(" 64 labels") for line in lines), lines

"""The summary of a report has the best of comparable runs, rates by category, reasons and
estimates.
"""

from __future__ import annotations

from dataclasses import replace

from fcreview.exporters.report_sections import (
    DatasetFailures,
    Paragraph,
    Section,
)
from fcreview.exporters.report_summary import (
    MAX_REASONS,
    RunFigures,
    SuspectCounts,
    build_category_section,
    build_failure_reasons_section,
    build_metric_table,
    build_score_section,
    build_summary_cards,
    collect_metric_rows,
    format_denominator,
    get_displayed_value,
    list_value_columns,
)
from fcreview.matching.clusters import Cluster
from fcreview.model.metric import Metric, MetricSource, OwnScore
from fcreview.stats.estimation import MetricEstimate, PassRateEstimate
from fcreview.tables.table import Bar, Table, Whisker, make_row

RUNS = [
    RunFigures("birch", "bfcl V1 en", 100, (50, 100), (52, 100), (51, 100)),
    RunFigures("oak", "bfcl V4 en", 10, (0, 0), (3, 4), (2, 10)),
    RunFigures("maple", "bfcl V1 en", 100, (70, 100), (40, 90), (45, 60)),
    RunFigures("elm", "bfcl V4 en", 0, (0, 0), (0, 0), (0, 0), stated=(86, 100)),
]
SAMPLED = replace(
    RUNS[2], estimate=PassRateEstimate(0.753, 0.729, 0.777, 64), n_sampled=160, disputed=2
)


def list_tables(section: Section) -> list[Table]:
    return [block for block in section.blocks if isinstance(block, Table)]


def test_each_dataset_has_a_score_table_with_the_best_run_first() -> None:
    found = list_tables(build_score_section(RUNS))
    assert [table.titles[0] for table in found] == ["bfcl V1 en", "bfcl V4 en"]
    assert [[row.texts[0] for row in table.rows] for table in found] == [
        ["maple", "birch"],
        ["oak", "elm"],
    ]
    assert list(found[0].rows[1].texts) == ["birch", "100", "50.0 %", "52.0 %", "51.0 %"]


def test_corrected_rate_stands_beside_the_number_of_reviewed_items() -> None:
    (found,) = list_tables(build_score_section([RUNS[0], replace(RUNS[2], reviewed=60)]))
    assert found.titles[5] == "reviewed"
    assert [row.texts[5] for row in found.rows] == ["60", "0"]


def test_partial_rate_has_its_denominator() -> None:
    maple, (oak, elm) = (
        list_tables(build_score_section(RUNS))[0].rows[0],
        list_tables(build_score_section(RUNS))[1].rows,
    )
    assert maple.texts[2:] == ["70.0 %", "44.4 % of 90", "75.0 % of 60"]
    assert oak.texts[2:] == ["–", "– (4 of 10)", "20.0 %"]
    assert elm.texts[2:] == ["86.0 % stated", "–", "–"]


def test_estimate_has_an_interval_a_whisker_and_needed_labels() -> None:
    found = list_tables(build_score_section([RUNS[0], SAMPLED]))[0]
    assert list(found.titles[5:]) == ["items passed, est. [95 % CI]", "for ±2"]
    assert found.rows[0].texts[4:] == [
        "75.0 % of 60 · 2 open",
        "75.3 % [72.9, 77.7]",
        "64 labels",
    ]
    assert found.rows[0].graphic == Whisker(0.729, 0.753, 0.777, 0.7)
    assert (found.rows[1].texts[5:], found.rows[1].graphic) == (["–", "–"], None)


def test_best_run_is_selected_among_runs_of_equal_size() -> None:
    other = replace(RUNS[0], name="pine", items=20, official=(20, 20))
    best, estimate, disagreements, suspects = build_summary_cards(
        [other, RUNS[0], SAMPLED], 3, SuspectCounts(6, 4, strong=5)
    )
    assert (best.label, best.value) == ("Best of 2 runs, official", "70.0 %")
    assert best.note == "maple · bfcl V1 en · 100 items"
    assert (estimate.value, estimate.note) == (
        "75.3 % ± 2.4",
        "95 % interval 72.9 to 77.7, from 160 sampled items",
    )
    assert estimate.label == "Items passed by this run, estimated"
    assert (disagreements.value, disagreements.note) == (
        "3",
        "pass rates change by at most 3.3 points",
    )
    assert (suspects.value, suspects.note) == ("5", "1 weak, 4 confirmed by annotators")
    alone = build_summary_cards([RUNS[1]], 0, SuspectCounts(0, 0))
    assert [card.value for card in alone] == ["75.0 %", "–", "0", "0"]
    assert alone[0].note == "oak · bfcl V4 en · 4 of 10 items"
    assert not any(card.needs_attention for card in alone)


def test_estimate_says_which_figure_it_is_not_and_that_reviews_were_not_blind() -> None:
    own = OwnScore("overall accuracy", 0.4, "share", digits=2, table="accuracy", name="overall")
    sampled = replace(SAMPLED, own=own, n_seen_reviews=50)
    _, estimate, *_ = build_summary_cards([sampled], 0, SuspectCounts(0, 0))
    assert estimate.note.endswith(
        "from 160 sampled items · 50 reviews not blind · not overall accuracy"
    )


def test_runs_that_may_be_as_good_as_the_best_run_are_marked() -> None:
    tied = replace(RUNS[0], is_tied=True)
    card, *_ = build_summary_cards([tied, RUNS[2]], 0, SuspectCounts(0, 0))
    assert card.value == "70.0 %" and card.note.endswith(" · not clearly better than 1 other run")
    section = build_category_section([tied, RUNS[2]])
    (table,) = list_tables(section)
    assert [row.texts[0] for row in table.rows] == ["maple", "birch ="]
    assert str(section.blocks[0]).count("interval of the difference contains 0") == 1
    assert "contains 0" not in str(build_category_section(RUNS).blocks[0])


def test_ties_are_marked_in_the_table_of_scores() -> None:
    (table,) = list_tables(build_score_section([replace(RUNS[0], is_tied=True), RUNS[2]]))
    assert [row.texts[0] for row in table.rows] == ["maple", "birch ="]


def test_own_metric_and_items_passed_are_two_figures_with_their_names() -> None:
    own = OwnScore(
        "overall accuracy", value=0.3971, unit="share", digits=2, table="accuracy", name="overall"
    )
    runs = [replace(RUNS[0], own=own), RUNS[2]]
    scores = build_score_section(runs)
    (table,) = list_tables(scores)
    assert table.titles[2:4] == ["overall accuracy", "official"]
    assert [row.texts[2:4] for row in table.rows] == [["–", "70.0 %"], ["39.71 %", "50.0 %"]]
    assert "Overall accuracy is the benchmark's own metric" in str(scores.blocks[0])
    assert "the share of items that pass" in str(scores.blocks[0])
    (rates,) = list_tables(build_category_section(runs))
    assert rates.titles[2] == "items passed"
    card, *_ = build_summary_cards([runs[0]], 0, SuspectCounts(0, 0))
    assert card.label == "Items passed, official" and card.value == "50.0 %"
    assert "overall accuracy 39.71 %" in card.note


def test_runs_with_few_items_come_last() -> None:
    few = replace(RUNS[0], name="few", items=29, official=(29, 29), corrected=(29, 29))
    (table,) = list_tables(build_score_section([few, RUNS[0], RUNS[2]]))
    assert [row.texts[0] for row in table.rows] == ["maple", "birch", "few"]


def test_rates_by_category_are_unknown_if_verdicts_are_missing() -> None:
    run = replace(RUNS[0], categories={"simple": (60, 0.8), "live": (40, None)})
    (found,) = list_tables(build_category_section([run]))
    assert list(found.titles) == ["bfcl V1 en", "items", "items passed", "simple", "live"]
    assert found.rows[0].texts == ["birch", "100", "50.0", "80.0", "–"]


def test_reasons_have_sentences_codes_and_scaled_bars() -> None:
    counts = {"value_error:string": 40, "odd": 10, "": 5} | {f"odd_{at}": 1 for at in range(5)}
    clusters = [Cluster(name, None, None, count, [], "") for name, count in counts.items()]
    (found,) = list_tables(
        build_failure_reasons_section([DatasetFailures("bfcl V1 en, 2 runs", clusters, [])])
    )
    assert found.titles[1] == "bfcl V1 en, 2 runs: 60 failing items after reviews"
    assert found.rows[0] == make_row(
        ["40", "String is not an accepted value", "value_error:string"], graphic=Bar(1.0)
    )
    assert found.rows[1] == make_row(["10", "odd", ""], graphic=Bar(0.25))
    assert found.rows[2].texts[1] == "(no error type)"
    assert (len(found.rows), list(found.rows[-1].texts)) == (
        MAX_REASONS + 1,
        ["2", "2 other error types", ""],
    )
    assert build_failure_reasons_section([DatasetFailures("x", [], [])]).blocks == [
        Paragraph("No item fails.")
    ]


def compute_metrics(source: MetricSource) -> list[Metric]:
    value = {"official": 0.7, "rule": 0.72, "corrected": 0.75}[source]
    known = 80 if source == "rule" else 100
    return [
        Metric("accuracy", "overall", value=value, n=100, total=100),
        Metric(
            "accuracy",
            "live",
            value=100 * value,
            unit="percent",
            level=1,
            n=known,
            total=100,
            note="a note",
        ),
        Metric("cost", "tokens", value=5, unit="count"),
    ]


def test_table_has_three_sources_and_denominators() -> None:
    lines = [line for line in collect_metric_rows(compute_metrics) if line.table == "accuracy"]
    found = build_metric_table("accuracy", lines, {}, list_value_columns(lines))
    assert list(found.titles) == ["accuracy", "official", "recomputed", "corrected", "over"]
    assert list(found.rows[0].texts) == ["overall", "70.0 %", "72.0 %", "75.0 %", "100 items"]


def test_partly_recomputed_metric_has_no_value() -> None:
    metrics = collect_metric_rows(compute_metrics)[:2]
    row = build_metric_table("accuracy", metrics, {}, list_value_columns(metrics)).rows[1]
    assert row.texts == ["live", "70.0 %", "–", "75.0 %", "100 items (recomputed 80); a note"]
    assert row.level == 1


def test_nearly_completely_recomputed_metric_has_a_value() -> None:
    row = collect_metric_rows(compute_metrics)[1]
    row.n["rule"] = 99
    assert get_displayed_value(row, "rule") == row.values["rule"]
    assert format_denominator(row) == "100 items (recomputed 99)"


def make_estimate(value: float, low: float, high: float, n_random: int) -> MetricEstimate:
    return MetricEstimate(
        "accuracy",
        1,
        "live",
        "percent",
        1,
        None,
        None,
        value,
        low,
        high,
        n_random,
        n_random,
        "posterior",
        None,
    )


def test_estimates_have_a_column() -> None:
    lines = collect_metric_rows(compute_metrics)[:2]
    estimates = {lines[1].key: make_estimate(74.9, 69.8, 79.6, 50)}
    found = build_metric_table("accuracy", lines, estimates, list_value_columns(lines))
    assert list(found.titles)[1:] == [
        "official",
        "recomputed",
        "corrected",
        "estimated [95 % CI]",
        "over",
    ]
    assert found.rows[1].texts[4] == "74.9 % [69.8, 79.6]"
    assert found.rows[0].texts[4] == ""


def test_range_of_undecided_items_replaces_the_interval_as_headline() -> None:
    line = collect_metric_rows(compute_metrics)[1]
    estimate = replace(make_estimate(75.3, 72.9, 77.7, 120), bounds=(71.8, 79.0), n_undecided=5)

    def build_table(*, is_bounds_headline: bool) -> Table:
        estimates = {line.key: replace(estimate, is_bounds_headline=is_bounds_headline)}
        return build_metric_table("accuracy", [line], estimates, list_value_columns([line]))

    few = build_table(is_bounds_headline=False)
    many = build_table(is_bounds_headline=True)
    assert [few.rows[0].texts[4], many.rows[0].texts[4]] == [
        "75.3 % [72.9, 77.7]",
        "range 71.8 to 79.0 %",
    ]
    for table in (few, many):
        why = "120 sampled, 71.8 to 79.0 %, depending on 5 undecided items"
        assert table.rows[0].texts[5].endswith(why)

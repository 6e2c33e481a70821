"""The metric tables of a report show all sources, estimates, and no rate for partly recomputed metrics."""

from __future__ import annotations

from fcreview.exporters.report_metrics import Interval, build_metric_table, collect_metric_rows
from fcreview.model.metric import Metric, MetricSource


def compute_metrics(source: MetricSource) -> list[Metric]:
    value = {"official": 0.7, "rule": 0.72, "corrected": 0.75}[source]
    known = 90 if source == "rule" else 100
    return [
        Metric("accuracy", "overall", value, n=100, total=100),
        Metric("accuracy", "live", 100 * value, "percent", level=1, n=known, total=100, note="a note"),
        Metric("cost", "tokens", 5, "count"),
    ]


def test_table_has_three_sources_and_denominators() -> None:
    lines = [line for line in collect_metric_rows(compute_metrics) if line.table == "accuracy"]
    found = build_metric_table("accuracy", lines, {})
    assert list(found.heads) == ["accuracy", "official", "recomputed", "corrected", "over"]
    assert list(found.rows[0].cells) == ["overall", "70.0 %", "72.0 %", "75.0 %", "100 items"]


def test_partly_recomputed_metric_has_no_value() -> None:
    row = build_metric_table("accuracy", collect_metric_rows(compute_metrics)[:2], {}).rows[1]
    assert row.cells == ["live", "70.0 %", "–", "75.0 %", "100 items (recomputed 90); a note"]
    assert row.level == 1


def test_estimates_have_a_column() -> None:
    lines = collect_metric_rows(compute_metrics)[:2]
    found = build_metric_table("accuracy", lines, {lines[1].key: Interval(74.9, 69.8, 79.6, 50)})
    assert list(found.heads)[1:] == ["official", "recomputed", "corrected", "estimated accuracy, 95 % CI", "over"]
    assert found.rows[1].cells[4] == "74.9 % [69.8, 79.6]"
    assert found.rows[0].cells[4] == ""


def test_range_of_undecided_items_replaces_the_interval_as_headline() -> None:
    line = collect_metric_rows(compute_metrics)[1]
    few, many = (
        build_metric_table("accuracy", [line], {line.key: Interval(75.3, 72.9, 77.7, 120, (71.8, 79.0), 5, headline)})
        for headline in (False, True)
    )
    assert [few.rows[0].cells[4], many.rows[0].cells[4]] == ["75.3 % [72.9, 77.7]", "71.8 to 79.0 %"]
    for table in (few, many):
        why = "120 sampled, 71.8 to 79.0 % if the 5 undecided items all fail or all pass"
        assert table.rows[0].cells[5].endswith(why)

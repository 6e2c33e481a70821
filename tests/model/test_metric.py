"""Metrics of error tags, and their tables."""

from __future__ import annotations

from fcreview.model.metric import (
    MAX_TAG_METRICS,
    Metric,
    ScoredItem,
    build_tag_metrics,
    group_by_table,
)


def make_tagged_item(*tags: str) -> ScoredItem:
    return ScoredItem("item", category="simple", group=None, valid=True, tags=tags)


def list_counts(metrics: list[Metric]) -> list[tuple[str, float | None]]:
    return [(metric.name, metric.value) for metric in metrics]


def test_tags_of_the_benchmark_come_first_and_others_by_frequency() -> None:
    items = [make_tagged_item("unit", "zone"), make_tagged_item("unit", "date", "zone")]
    assert list_counts(build_tag_metrics(items, ["date", "city", "date"])) == [
        ("date", 1),
        ("unit", 2),
        ("zone", 2),
    ]


def test_metrics_of_a_review_with_100_000_tags_are_few() -> None:
    many = [f"t{number}" for number in range(100_000)]
    items = [make_tagged_item(*many), make_tagged_item("t7", "unit"), make_tagged_item("t7")]
    metrics = build_tag_metrics(items, many[:3])
    assert len(metrics) == MAX_TAG_METRICS + 1
    assert list_counts(metrics[:4]) == [("t0", 1), ("t1", 1), ("t2", 1), ("t7", 3)]
    other = metrics[-1]
    assert (other.name, other.value, other.level) == ("other tags", 2, 1)
    assert other.note == "99,801 tags are not listed"


def test_rows_are_grouped_by_table_in_order_of_appearance() -> None:
    rows = [Metric(table, name, value=1.0) for table, name in ("bx", "ay", "bz")]
    tables = group_by_table(rows)
    assert list(tables) == ["b", "a"]
    assert [row.name for row in tables["b"]] == ["x", "z"]

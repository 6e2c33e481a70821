"""Facets count items by value, and filters of clusters select their items."""

from __future__ import annotations

import pytest

from fcreview.store.filters.tokens import add_terms
from fcreview.store.store import Store, View


def test_runs_and_their_counts(store: Store) -> None:
    rows = store.fetch_runs()
    assert [row.info.model for row in rows] == ["a", "b"]
    first = rows[0]
    assert (first.n_items, first.official_pass, first.official_known, first.rule_pass) == (
        500,
        125,
        375,
        100,
    )
    assert (first.effective_known, first.reviewed, first.n_issues) == (500, 0, 0)
    assert [category["category"] for category in first.categories] == ["c0", "c1", "c2"]
    assert sum(category["official_pass"] for category in first.categories) == 125


def test_facet_counts_equal_filter_results(store: Store) -> None:
    base = View(where="category:c0|c1")
    for name, values in store.fetch_facets(base).items():
        assert sum(count for _, count in values) == store.count_items(base)
        counts = [count for _, count in values]
        assert counts == sorted(counts, reverse=True)
        if name in ("official", "rule", "category", "effective", "judge", "run"):
            for value, count in values:
                assert store.count_items(View(where=f"({base.where}) {name}:{value}")) == count


@pytest.mark.sweep
@pytest.mark.parametrize("view", [View(), View(where="category:c0 OR rule:pass"), View(runs=(1,))])
def test_cluster_filter_selects_exactly_its_items(store: Store, view: View) -> None:
    clusters = store.fetch_clusters(view)
    assert len(clusters) > 10
    assert [cluster.count for cluster in clusters] == sorted(
        (cluster.count for cluster in clusters), reverse=True
    )
    for cluster in clusters:
        rows = store.fetch_page(
            View(where=cluster.where, runs=view.runs, queue="dataset"), 0, 10_000
        )
        assert len(rows) == cluster.count
        assert [row.id for row in rows[:3]] == cluster.examples
        assert all(row.effective is False for row in rows)
    for term in {term for cluster in clusters for term in cluster.terms}:
        of_term = store.count_items(
            View(where=add_terms(view.where, "effective:fail", term), runs=view.runs)
        )
        assert of_term == sum(cluster.count for cluster in clusters if term in cluster.terms), term
    failing = store.count_items(
        View(
            where=f"({view.where}) effective:fail" if view.where else "effective:fail",
            runs=view.runs,
        )
    )
    assert sum(cluster.count for cluster in clusters) == failing
    assert store.fetch_clusters(view, limit=2) == clusters[:2]

"""A run matrix ranks runs, lists the hardest items, and finds items that only weak runs pass."""

from __future__ import annotations

from itertools import product
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats.run_comparison import build_run_matrix, compute_upset_score
from tests.stats.comparison_cases import make_outcomes

STRENGTHS = st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.5, 0.9]), max_size=8)


def test_runs_are_ranked_by_shared_items() -> None:
    found = build_run_matrix([make_outcomes("PFFF"), make_outcomes("PPFFPPPP"), make_outcomes("PPPF.")])
    assert [(each.run, each.rank, each.passed, each.known) for each in found.ranking] == [
        (2, 1, 3, 4),
        (1, 2, 2, 4),
        (0, 3, 1, 4),
    ]
    assert found.n_shared == 4


def test_equal_runs_share_a_rank() -> None:
    assert [
        each.rank for each in build_run_matrix([make_outcomes("PF"), make_outcomes("FP"), make_outcomes("FF")]).ranking
    ] == [1, 1, 3]


def test_runs_without_shared_items_use_their_own_rate() -> None:
    found = build_run_matrix([make_outcomes("PF"), make_outcomes("PPP", category="multiple"), make_outcomes(".")])
    assert found.n_shared == 0
    assert [(each.run, each.rate) for each in found.ranking] == [(1, 1.0), (0, 0.5), (2, None)]


def test_hardest_items_and_best_runs_come_first() -> None:
    found = build_run_matrix([make_outcomes("FPP."), make_outcomes("FFPF"), make_outcomes("FPP.")])
    assert [(item.aligned_item.question_key.id, item.passing, item.known) for item in found.items] == [
        ("0", 0, 3),
        ("3", 0, 1),
        ("1", 2, 3),
        ("2", 3, 3),
    ]
    assert found.items[2].verdicts == (True, True, False)


def test_item_that_only_weak_runs_pass_is_an_upset() -> None:
    strong, middle, weak = make_outcomes("PPPPF"), make_outcomes("PPPFF"), make_outcomes("FFFFP")
    found = build_run_matrix([weak, strong, middle])
    assert [item.aligned_item.question_key.id for item in found.upsets] == ["4"]
    assert found.upsets[0].upset_score == max(item.upset_score for item in found.items)


@given(STRENGTHS, STRENGTHS)
def test_upset_score_is_mann_whitney_u(passing: list[float], failing: list[float]) -> None:
    pairs = sum(1.0 if one < other else 0.5 * (one == other) for one, other in product(passing, failing))
    n, m = len(passing), len(failing)
    expected = (pairs - n * m / 2) / sqrt(n * m * (n + m + 1) / 12) if n and m else 0.0
    assert compute_upset_score(sorted(passing), failing) == pytest.approx(expected, abs=1e-9)

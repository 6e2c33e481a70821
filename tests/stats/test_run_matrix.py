"""Many runs: their ranking, hardest items, and items that stronger runs fail and weaker pass."""

from __future__ import annotations

from itertools import product
from math import sqrt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fcreview.stats.run_comparison import build_run_matrix, compute_upset_score
from tests.stats.comparison_cases import run

STRENGTHS = st.lists(st.sampled_from([0.1, 0.2, 0.5, 0.5, 0.9]), max_size=8)


def test_runs_are_ranked_over_the_items_that_all_have() -> None:
    found = build_run_matrix([run("PFFF"), run("PPFFPPPP"), run("PPPF.")])
    assert [(each.run, each.rank, each.passed, each.known) for each in found.ranking] == [
        (2, 1, 3, 4),
        (1, 2, 2, 4),
        (0, 3, 1, 4),
    ]
    assert found.n_shared == 4


def test_equal_runs_share_a_rank() -> None:
    assert [each.rank for each in build_run_matrix([run("PF"), run("FP"), run("FF")]).ranking] == [1, 1, 3]


def test_where_no_item_is_in_all_runs_each_has_its_own_rate() -> None:
    found = build_run_matrix([run("PF"), run("PPP", category="multiple"), run(".")])
    assert found.n_shared == 0
    assert [(each.run, each.rate) for each in found.ranking] == [(1, 1.0), (0, 0.5), (2, None)]


def test_the_hardest_come_first_and_verdicts_stand_best_run_first() -> None:
    found = build_run_matrix([run("FPP."), run("FFPF"), run("FPP.")])
    assert [(item.aligned_item.question_key.id, item.passing, item.known) for item in found.items] == [
        ("0", 0, 3),
        ("3", 0, 1),
        ("1", 2, 3),
        ("2", 3, 3),
    ]
    assert found.items[2].verdicts == (True, True, False)


def test_an_item_that_only_weak_runs_pass_stands_out() -> None:
    strong, middle, weak = run("PPPPF"), run("PPPFF"), run("FFFFP")
    found = build_run_matrix([weak, strong, middle])
    assert [item.aligned_item.question_key.id for item in found.upsets] == ["4"]
    assert found.upsets[0].upset_score == max(item.upset_score for item in found.items)


@given(STRENGTHS, STRENGTHS)
def test_upset_is_mann_and_whitneys_u(passing: list[float], failing: list[float]) -> None:
    pairs = sum(1.0 if one < other else 0.5 * (one == other) for one, other in product(passing, failing))
    n, m = len(passing), len(failing)
    expected = (pairs - n * m / 2) / sqrt(n * m * (n + m + 1) / 12) if n and m else 0.0
    assert compute_upset_score(sorted(passing), failing) == pytest.approx(expected, abs=1e-9)

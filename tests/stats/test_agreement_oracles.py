"""Every coefficient equals the results of independent libraries to 1e-9.

The tests call `krippendorff`, `nltk` and `statsmodels`. `agreement_record.py` recorded irrCAC and
scikit-learn.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import krippendorff
import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from fcreview.stats.agreement import compute_masi_distances
from tests.oracles import (
    AnnotationTask,
    aggregate_raters,
    binary_distance,
    cohens_kappa,
    fleiss_kappa,
    nltk_masi_distance,
    to_table,
)
from tests.stats.agreement_tables import NAMES, compute_coefficients, make_label_table

RECORDED: list[dict[str, Any]] = json.loads((Path(__file__).parent / "recorded.json").read_text())
LETTERS = "abcd"
SETS = [["a"], ["b", "c"], ["a", "b"], ["c"], ["a", "b", "c"], []]


def is_close(value: float | None, expected: float) -> bool:
    return value is not None and abs(value - expected) < 1e-9


def to_letters(recorded: dict[str, Any]) -> list[list[str | None]]:
    return [
        [None if each is None else LETTERS[each] for each in unit] for unit in recorded["units"]
    ]


@pytest.mark.parametrize("recorded", RECORDED, ids=range(len(RECORDED)))
def test_coefficients_equal_recorded_results(recorded: dict[str, Any]) -> None:
    found = compute_coefficients(to_letters(recorded))
    assert is_close(found["ac1"].value, recorded["ac1"])
    assert is_close(found["alpha"].value, recorded["alpha"])
    if "fleiss" in recorded:
        assert is_close(found["fleiss"].value, recorded["fleiss"])
    for pair in recorded["cohen"]:
        cohen = found[" ".join(["cohen", *(NAMES[at] for at in pair["pair"])])]
        assert is_close(cohen.value, pair["sklearn"])
        assert is_close(cohen.value, pair["irrcac"])


@pytest.mark.parametrize("recorded", RECORDED, ids=range(len(RECORDED)))
def test_weighted_coefficients_equal_recorded_results(recorded: dict[str, Any]) -> None:
    """Quadratic weights, on the scale from 0 to the largest score of the table."""
    found = compute_coefficients(recorded["units"])
    assert is_close(found["ac2"].value, recorded["ac2"])
    for pair in recorded["cohen"]:
        labels = [[unit[at] for at in pair["pair"]] for unit in recorded["units"]]
        used = {each for unit in labels if None not in unit for each in unit}
        if used != set(range(recorded["categories"])):
            # Both programs weight by all scores of the table, fcreview by the scores of the pair.
            continue
        weighted = found[" ".join(["weighted", *(NAMES[at] for at in pair["pair"])])]
        assert is_close(weighted.value, pair["weighted sklearn"])
        assert is_close(weighted.value, pair["weighted irrcac"])


@pytest.mark.parametrize("seed", range(12))
def test_weighted_kappa_of_scores_equals_statsmodels(seed: int) -> None:
    units = make_label_table(seed, [2, 1, 0], annotators=2)
    found = compute_coefficients(units, "completeness")["weighted alice bob"]
    oracle = cohens_kappa(
        to_table(np.array(units), bins=3)[0], wt="quadratic", return_results=False
    )
    assert (found.level, is_close(found.value, oracle)) == ("ordinal", True)


def test_recorded_tables_cover_all_kinds_of_data() -> None:
    assert len(RECORDED) >= 20
    for recorded in RECORDED:
        used = {each for unit in recorded["units"] for each in unit} - {None}
        assert used == set(range(recorded["categories"]))
    assert sum("fleiss" in recorded for recorded in RECORDED) >= 8
    assert sum(any(None in unit for unit in recorded["units"]) for recorded in RECORDED) >= 8


def make_task(units: list[list[Any]], distance: Any = binary_distance) -> Any:
    labels = [
        (NAMES[at], number, frozenset(value) if isinstance(value, list) else value)
        for number, unit in enumerate(units)
        for at, value in enumerate(unit)
        if value is not None
    ]
    return AnnotationTask(labels, distance)


@pytest.mark.parametrize("seed", range(12))
def test_complete_tables_equal_nltk(seed: int) -> None:
    units = make_label_table(seed, LETTERS[: 2 + seed % 3], annotators=2 + seed % 3)
    found, oracle = compute_coefficients(units), make_task(units)
    assert is_close(found["fleiss"].value, oracle.pi())
    assert is_close(found["alpha"].value, oracle.alpha())
    pairs = [coefficient for coefficient in found.values() if coefficient.metric == "cohen"]
    for coefficient in pairs:
        assert is_close(coefficient.value, oracle.kappa_pairwise(*coefficient.annotators))
    shares = [coefficient for coefficient in found.values() if coefficient.metric == "percent"]
    for coefficient in shares:
        own = [
            oracle.Ao(*pair.annotators)
            for pair in pairs
            if set(pair.annotators) <= set(coefficient.annotators)
        ]
        assert is_close(coefficient.value, sum(own) / len(own))


@pytest.mark.parametrize("seed", range(12))
def test_kappas_equal_statsmodels(seed: int) -> None:
    """With missing labels, Cohen's kappa uses the units that both annotators labelled."""
    size = 2 + seed % 3
    complete = make_label_table(seed, LETTERS[:size], annotators=2 + seed % 3)
    numbers = np.array([[LETTERS.index(each) for each in unit] for unit in complete])
    assert is_close(
        compute_coefficients(complete)["fleiss"].value,
        fleiss_kappa(aggregate_raters(numbers, n_cat=size)[0]),
    )
    incomplete = make_label_table(seed, LETTERS[:size], annotators=3, missing=0.2)
    pairs = [
        coefficient
        for coefficient in compute_coefficients(incomplete).values()
        if coefficient.metric == "cohen"
    ]
    assert len(pairs) == 3
    for coefficient in pairs:
        one, other = (NAMES.index(name) for name in coefficient.annotators)
        both = [
            (LETTERS.index(unit[one]), LETTERS.index(unit[other]))
            for unit in incomplete
            if unit[one] and unit[other]
        ]
        oracle = cohens_kappa(to_table(np.array(both), bins=size)[0], return_results=False)
        assert is_close(coefficient.value, oracle)


@pytest.mark.parametrize("seed", range(12))
def test_alpha_of_sets_equals_nltk_and_krippendorff(seed: int) -> None:
    units = make_label_table(seed, SETS, annotators=3, missing=0.2)
    found = compute_coefficients(units, "dialog_act")["alpha"]
    assert found.level == "masi"

    def set_distance(one: frozenset[str], other: frozenset[str]) -> float:
        return float(nltk_masi_distance(one, other)) if one | other else 0.0

    assert is_close(found.value, make_task(units, set_distance).alpha())
    counts = np.array([[unit.count(each) for each in SETS] for unit in units])
    between = compute_masi_distances([frozenset(each) for each in SETS])
    oracle = krippendorff.alpha(
        value_counts=counts, level_of_measurement=lambda v1, v2, i1, i2, n_v, dtype: between[i1, i2]
    )
    assert is_close(found.value, oracle)


def test_set_distance_equals_nltk() -> None:
    sets = [frozenset(each) for each in [*SETS, ["d", "e"], ["b", "d"]]]
    between = compute_masi_distances(sets)
    for at, one in enumerate(sets):
        for to, other in enumerate(sets):
            expected = nltk_masi_distance(one, other) if one | other else 0.0
            assert is_close(float(between[at, to]), expected)


def test_set_distance_follows_passonneau() -> None:
    between = compute_masi_distances(
        [frozenset("ab"), frozenset("ab"), frozenset("a"), frozenset("bc"), frozenset("cd")]
    )
    assert between[0].tolist() == pytest.approx([0, 0, 1 - 1 / 2 * 2 / 3, 1 - 1 / 3 * 1 / 3, 1])


_CELL = st.one_of(st.none(), st.integers(0, 2))


@pytest.mark.sweep
@given(st.lists(st.tuples(_CELL, _CELL, _CELL), min_size=2, max_size=20))
def test_alpha_of_random_tables_equals_krippendorff(units: list[tuple[int | None, ...]]) -> None:
    matrix = np.array(
        [[np.nan if each is None else each for each in unit] for unit in units], dtype=float
    ).T
    paired = [[each for each in unit if each is not None] for unit in units]
    # otherwise alpha is undefined
    assume(len({each for unit in paired if len(unit) > 1 for each in unit}) > 1)
    ordinal = krippendorff.alpha(matrix, level_of_measurement="ordinal", value_domain=[0, 1, 2])
    found = compute_coefficients(units, "completeness")["alpha"]
    assert found.level == "ordinal"
    assert is_close(found.value, ordinal)
    letters = [[None if each is None else LETTERS[each] for each in unit] for unit in units]
    nominal = krippendorff.alpha(matrix, level_of_measurement="nominal")
    assert is_close(compute_coefficients(letters)["alpha"].value, nominal)


def test_krippendorff_published_example() -> None:
    """Computing Krippendorff's alpha-reliability (Krippendorff 2011), section C: 0.743 nominal,
    0.815 ordinal.
    """
    observers = [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
        [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
    ]
    units = list(zip(*observers, strict=True))
    assert round(compute_coefficients(units)["alpha"].value or 0, 3) == 0.815
    assert (
        round(
            compute_coefficients([[each and str(each) for each in unit] for unit in units])[
                "alpha"
            ].value
            or 0,
            3,
        )
        == 0.743
    )

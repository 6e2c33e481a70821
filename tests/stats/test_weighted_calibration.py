"""Calibration from samples whose items had different chances to be drawn."""

from __future__ import annotations

import numpy as np
import pytest

from fcreview.stats.calibration import CalibrationMeasure, VerdictPair, compute_calibrations

N_ITEMS = 2000


def make_run(generator: np.random.Generator) -> tuple[list[bool], list[bool]]:
    """Return automatic and true verdicts: 70 % pass, 4 % of the passes and 20 % of the failures
    are wrong.
    """
    automatic = (generator.random(N_ITEMS) < 0.7).tolist()
    truth = [
        verdict is not bool(generator.random() < (0.04 if verdict else 0.2))
        for verdict in automatic
    ]
    return automatic, truth


def make_pair(item: int, automatic: bool, human: bool, weight: float) -> VerdictPair:
    return VerdictPair(
        item,
        "rule",
        None,
        "correct",
        automatic=automatic,
        human=human,
        is_random=True,
        benchmark="bfcl",
        category="all",
        weight=weight,
    )


def draw_by_verdict(
    generator: np.random.Generator, n_passes: int, n_failures: int
) -> list[VerdictPair]:
    """Draw passes and failures separately, as two queues with a filter do."""
    automatic, truth = make_run(np.random.default_rng(0))
    pairs = []
    for verdict, size in ((True, n_passes), (False, n_failures)):
        members = [item for item, each in enumerate(automatic) if each is verdict]
        for item in generator.choice(members, size, replace=False).tolist():
            pairs.append(make_pair(item, verdict, truth[item], weight=len(members) / size))
    return pairs


def calibrate(pairs: list[VerdictPair]) -> dict[str, CalibrationMeasure]:
    (found,) = compute_calibrations(pairs, ("overall",))
    return {str(measure.metric): measure for measure in found.rates}


def compute_true_rates() -> dict[str, float]:
    automatic, truth = make_run(np.random.default_rng(0))
    true_passes = sum(automatic[item] and truth[item] for item in range(N_ITEMS))
    true_fails = sum(not automatic[item] and not truth[item] for item in range(N_ITEMS))
    n_passes = sum(automatic)
    return {
        "tpr": true_passes / sum(truth),
        "tnr": true_fails / (N_ITEMS - sum(truth)),
        "precision": true_passes / n_passes,
        "wrong_fails": 1 - true_fails / (N_ITEMS - n_passes),
        "agreement": (true_passes + true_fails) / N_ITEMS,
    }


def test_queues_by_verdict_give_the_rates_of_the_whole_run() -> None:
    rates = compute_true_rates()
    found = {name: [] for name in rates}  # type: dict[str, list[float]]
    hits = dict.fromkeys(rates, 0)
    for seed in range(200):
        measures = calibrate(draw_by_verdict(np.random.default_rng(seed), 60, 140))
        for name, rate in rates.items():
            measure = measures[name]
            assert (
                measure.value is not None and measure.low is not None and measure.high is not None
            )
            found[name].append(measure.value)
            hits[name] += measure.low <= rate <= measure.high
    for name, rate in rates.items():
        assert np.mean(found[name]) == pytest.approx(rate, abs=0.01), name
        assert hits[name] >= 180, name


def test_sample_of_one_verdict_gives_only_what_is_known() -> None:
    failures = [
        pair for pair in draw_by_verdict(np.random.default_rng(1), 60, 140) if not pair.automatic
    ]
    measures = calibrate(failures)
    assert measures["wrong_fails"].value is not None and measures["wrong_fails"].n == 140
    for name in ("tpr", "tnr", "precision", "agreement", "f1", "kappa"):
        assert measures[name].value is None and measures[name].low is None


def test_pairs_chosen_by_hand_do_not_change_measures_of_a_sample() -> None:
    sample = draw_by_verdict(np.random.default_rng(2), 60, 140)
    by_hand = [
        VerdictPair(
            item,
            "rule",
            None,
            "correct",
            automatic=False,
            human=True,
            is_random=False,
            benchmark="b",
            category="all",
        )
        for item in range(5000, 5100)
    ]
    assert calibrate([*sample, *by_hand]) == calibrate(sample)

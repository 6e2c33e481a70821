"""Reducers and metrics over epochs follow the specification of the format."""

from __future__ import annotations

import math

import pytest

from fcreview.importers.inspect.metrics import (
    MetricSpec,
    NotRecomputable,
    ReducedScore,
    compute_metric,
    reduce_epochs,
)
from fcreview.importers.inspect.scores import convert_verdict_to_value, to_metric_number, to_verdict


@pytest.mark.parametrize(
    ("reducer", "values", "expected"),
    [
        (None, ["C", "I", "P"], 0.5),
        ("mean", [1, None, 0], 0.5),
        ("mean", [None, None], None),
        ("median", [1, 5, 2, 4], 3),
        ("max", ["I", "P"], "P"),
        ("mode", ["C", "C", "I"], "C"),
        ("majority", ["C", "I", "C"], "C"),
        ("majority", ["C", "C", None, None], None),
        ("at_least_2", ["C", "P", "C"], 1),
        ("at_least_2", ["C", "P", "I"], 0),
        ("pass_at_2", ["C", "I", "I"], 1 - 1 / 3),
        ("pass_at_2", ["C", None], None),
        ("pass_k_2", ["C", "C", "I"], 1 / 3),
        ("mean", [{"a": 1, "b": 0}, {"a": 0, "b": None}], {"a": 0.5, "b": 0}),
        ("mean", [[1, 0], [0, 0]], [0.5, 0]),
    ],
)
def test_reducers(reducer: str | None, values: list[object], expected: object) -> None:
    assert reduce_epochs(values, reducer) == expected


def test_unknown_reducer_is_not_recomputed() -> None:
    with pytest.raises(NotRecomputable, match="collect"):
        reduce_epochs([1], "collect")


def scores(*values: object) -> list[ReducedScore]:
    return [
        ReducedScore(value, {"level": "ab"[n % 2], "cluster": n // 2})
        for n, value in enumerate(values)
    ]


@pytest.mark.parametrize(
    ("metric", "params", "expected"),
    [
        ("accuracy", {}, 0.625),
        ("mean", {}, 0.625),
        ("std", {}, math.sqrt((2 * 0.375**2 + 0.625**2 + 0.125**2) / 3)),
        ("var", {}, (2 * 0.375**2 + 0.625**2 + 0.125**2) / 3),
        ("stderr", {}, math.sqrt((2 * 0.375**2 + 0.625**2 + 0.125**2) / 3) / 2),
        ("stderr", {"cluster": "cluster"}, math.sqrt(2 * (0.25**2 + 0.25**2)) / 4),
        ("inspect_ai/accuracy", {}, 0.625),
    ],
)
def test_metrics_omit_unscored_samples(
    metric: str, params: dict[str, object], expected: float
) -> None:
    found = compute_metric(MetricSpec("m", metric, params), scores("C", "I", "P", 1, None))
    assert found == pytest.approx(expected, abs=1e-15)


def test_grouped_metrics_have_value_per_group() -> None:
    params = {
        "metric": {"name": "accuracy"},
        "group_key": "level",
        "name_template": "{group_name}_acc",
    }
    of = scores(1, 0, 1, 1, 1)

    def value(name: str, **more: object) -> float | None:
        return compute_metric(MetricSpec(name, name, {**params, **more}, True), of)

    assert [value("a_acc"), value("b_acc"), value("all")] == [1.0, 0.5, 0.8]
    assert value("all", all="groups") == 0.75
    with pytest.raises(NotRecomputable):
        value("c_acc")


@pytest.mark.parametrize("metric", ["bootstrap_stderr", "f1", "own/metric"])
def test_other_metrics_are_not_recomputed(metric: str) -> None:
    with pytest.raises(NotRecomputable):
        compute_metric(MetricSpec("m", metric), scores(1))


def test_replaced_value_keeps_form() -> None:
    forms = [("C", "I"), ("P", "I"), (1, 0), (0.5, 0.0), (True, False), ("yes", "no"), (None, "I")]
    for old, failed in forms:
        new = convert_verdict_to_value(old, False)
        assert (new, type(new)) == (failed, type(failed))
    assert [convert_verdict_to_value(old, True) for old, _ in forms] == [
        "C",
        "C",
        1,
        1.0,
        True,
        "yes",
        "C",
    ]


def test_only_full_credit_passes() -> None:
    values = ["C", "I", "P", "N", 1, 0, 0.5, True, "yes", "0", 4, -1, "text", [1], {"a": 1}, None]
    verdicts = [True, False, False, False, True, False, False, True, True, False, *[None] * 6]
    assert [to_verdict(value) for value in values] == verdicts
    assert [to_metric_number(value) for value in ("P", "True", "2.5", "nan", "x", [1], 3)] == [
        0.5,
        1,
        2.5,
        0,
        0,
        0,
        3,
    ]

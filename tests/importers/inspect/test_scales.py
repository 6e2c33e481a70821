"""Which values pass, which score gives the verdicts, and what the log's own metrics say."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import orjson
import pytest

from fcreview.importers.inspect.scales import Scale
from fcreview.importers.inspect.scores import to_json_value
from fcreview.importers.registry import compute_metrics, discover, list_verdict_choices, read_items
from fcreview.model.item import ImportIssue, Item, Run, RunFact
from fcreview.model.json_value import TOO_DEEP_TEXT
from fcreview.model.metric import Metric, ScoredItem
from fcreview.model.review import ITEM_CORRECT
from fcreview.run_plan import RunPlan
from tests.importers.inspect.test_damage import make_log, pack

CASES = Path(__file__).parents[2] / "cases" / "inspect"


class ImportedLog:
    """A log as the importer reads it."""

    def __init__(self, path: Path, **options: str) -> None:
        (self.plan,) = discover([path]).plans
        self.plan.options = dict(options)  # type: ignore[arg-type]
        found = list(read_items(self.plan))
        self.items = [each for each in found if isinstance(each, Item)]
        self.issues = [each for each in found if isinstance(each, ImportIssue)]
        self.facts = {each.name: each for each in found if isinstance(each, RunFact)}

    @property
    def run(self) -> Run:
        return self.plan.run

    @property
    def verdicts(self) -> list[bool | None]:
        return [item.official for item in self.items]

    def compute_metrics(self, **reviews: bool) -> dict[str, Metric]:
        """Compute the metrics, with verdicts of annotators by item id."""
        rows = []
        for item in self.items:
            review = reviews.get(item.id)
            overrides = {} if review is None else {ITEM_CORRECT: review}
            valid = item.official if review is None else review
            row = ScoredItem(
                item.id, item.category, item.group, valid, metadata=item.extra.metadata
            )
            row.overrides = overrides
            rows.append(row)
        return {metric.name: metric for metric in compute_metrics(rows, self.run)}


def write_scores(path: Path, *values: Any, **metrics: float) -> Path:
    """Write a log with the scorer `check` and these values."""
    log = make_log()
    sample = log["samples"][0]
    log["samples"] = [
        sample | {"id": f"s{n}", "scores": {"check": {"value": value, "history": []}}}
        for n, value in enumerate(values)
    ]
    recorded = {
        name: {"name": name, "value": value, "params": {}} for name, value in metrics.items()
    }
    log["results"] = {"scores": [{"name": "check", "scorer": "check", "metrics": recorded}]}
    log["eval"]["scorers"] = [{"name": "check"}]
    path.write_bytes(pack(log) if path.suffix == ".eval" else json.dumps(log).encode())
    return path


@pytest.mark.parametrize("suffix", ["json", "eval"])
@pytest.mark.parametrize("outlier", [7, -1, 1.5, -math.inf])
def test_one_value_outside_of_0_to_1_makes_a_score_of_the_scorer(
    tmp_path: Path, suffix: str, outlier: float
) -> None:
    log = ImportedLog(write_scores(tmp_path / f"log.{suffix}", 1, 0, outlier, accuracy=2.0))
    assert log.verdicts == [None, None, None]
    values = [[v.value for v in item.verdicts if v.criterion == "check"] for item in log.items]
    assert values[:2] == [[1], [0]]
    assert log.compute_metrics()["accuracy"].unit == "score"
    assert log.facts["verdict_from"].value is None
    assert "set pass_at in the configuration" in log.facts["verdict_from"].reason


def test_values_between_0_and_1_are_verdicts(tmp_path: Path) -> None:
    log = ImportedLog(write_scores(tmp_path / "log.json", 1, 0, 0.5, accuracy=0.5))
    assert log.verdicts == [True, False, False]
    assert log.compute_metrics()["accuracy"].unit == "share"
    assert log.facts["verdict_from"] == RunFact("verdict_from", "check", "main score of the log")


@pytest.mark.parametrize(
    ("setting", "verdicts"),
    [
        ({"better": "lower"}, [False, True, None]),
        ({"better": "lower", "pass_at": 0.5}, [False, True, None]),
        ({"pass_at": 0.5}, [True, False, None]),
    ],
)
def test_configuration_says_which_values_pass(
    tmp_path: Path, setting: dict[str, Any], verdicts: list[bool | None]
) -> None:
    path = write_scores(tmp_path / "log.json", 1.0, 0.0, math.nan, mean=0.5)
    log = ImportedLog(path, scorers=json.dumps({"check": setting}))
    assert log.verdicts == verdicts


def test_threshold_gives_verdicts_on_any_scale(tmp_path: Path) -> None:
    path = write_scores(tmp_path / "log.json", 7, 6.9, -3, mean=3.6)
    assert ImportedLog(path, scorers='{"check": {"pass_at": 7}}').verdicts == [True, False, False]
    assert ImportedLog(path, scorers='{"check": {"better": "lower", "pass_at": 0}}').verdicts == [
        False,
        False,
        True,
    ]


def test_review_of_a_score_where_low_is_good_writes_the_low_value(tmp_path: Path) -> None:
    path = write_scores(tmp_path / "log.json", 1.0, 0.0, 0.0, 1.0, mean=0.5)
    log = ImportedLog(path, scorers='{"check": {"better": "lower"}}')
    assert log.compute_metrics()["mean"].value == 0.5
    assert log.compute_metrics(s0=True)["mean"].value == 0.25
    assert log.compute_metrics(s1=False)["mean"].value == 0.75


def test_review_keeps_a_value_on_a_scale_without_a_best_value(tmp_path: Path) -> None:
    log = ImportedLog(
        write_scores(tmp_path / "log.json", 7, 6, mean=6.5), scorers='{"check": {"pass_at": 7}}'
    )
    assert log.compute_metrics(s1=True)["mean"].value == 6.5
    with pytest.raises(ValueError, match="no value follows"):
        Scale(pass_at=7, is_bounded=False).to_value(6, True)


def test_changed_configuration_changes_the_fingerprint_of_the_import() -> None:
    plan = RunPlan(Run("inspect", "t", "en", "m", "p"), [])
    before = plan.import_fingerprint
    plan.options["scorers"] = '{"check": {"better": "lower"}}'
    assert plan.import_fingerprint != before


def test_object_scores_offer_their_keys() -> None:
    path = CASES / "03b-nan-dict"
    log = ImportedLog(path)
    assert log.verdicts == [None, None, None]
    expected = "no verdicts: choose one of check.safe, check.useful with --verdict-from"
    assert log.facts["verdict_from"] == RunFact("verdict_from", None, expected)
    assert list_verdict_choices(log.plan) == ["check.safe", "check.useful"]


def test_chosen_key_is_the_verdict_and_reviews_change_it() -> None:
    log = ImportedLog(CASES / "03b-nan-dict", verdict_from="check.useful")
    assert dict(zip([item.id for item in log.items], log.verdicts, strict=True)) == {
        "a": None,
        "b": True,
        "c": False,
    }
    before, after = log.compute_metrics(), log.compute_metrics(c=True)
    assert (before["accuracy"].value, after["accuracy"].value) == (0.5, 1.0)
    safe = [
        metric.value for metric in compute_metrics([], log.run) if metric.table == "check: safe"
    ]
    assert safe == [pytest.approx(2 / 3)]


def test_chosen_scorer_gives_the_verdicts() -> None:
    log = ImportedLog(CASES / "08-same-scorer", verdict_from="match1")
    assert log.verdicts == [False, False]
    assert log.facts["verdict_from"].value == "match1"


def test_infinite_and_missing_numbers_count_as_in_inspect() -> None:
    log = ImportedLog(CASES / "03d-inf")
    assert log.compute_metrics()["mean"].value == -math.inf
    assert [issue.what for issue in log.issues] == [
        "1 score of check is infinite. As in Inspect, so are the means over it"
    ]
    log = ImportedLog(CASES / "03-nan-scores")
    assert log.compute_metrics()["mean"].value == 0.5
    assert [issue.what for issue in log.issues] == [
        "1 score of check is not a number. As in Inspect, such a sample is not scored"
    ]


def write_partial_log(path: Path, **metrics: float) -> ImportedLog:
    """Write a log with two of 2,340 samples."""
    write_scores(path, "C", "I", **metrics)
    log = json.loads(path.read_text())
    log["results"] |= {"total_samples": 2340, "completed_samples": 2340}
    log["results"]["scores"][0]["scored_samples"] = 2340
    path.write_text(json.dumps(log))
    return ImportedLog(path)


def test_metric_of_the_log_is_official_if_the_file_holds_fewer_samples(tmp_path: Path) -> None:
    log = write_partial_log(tmp_path / "log.json", accuracy=0.705)
    accuracy = log.compute_metrics()["accuracy"]
    assert (accuracy.value, accuracy.n, accuracy.unit) == (0.705, 2340, "share")
    assert accuracy.note == "imported from the log, not recomputed: the file has 2 of 2,340"
    assert log.facts["expected_items"].value == 2340


def test_review_does_not_change_a_metric_that_covers_more_samples_than_the_file(
    tmp_path: Path,
) -> None:
    log = write_partial_log(tmp_path / "log.json", accuracy=0.705)
    accuracy = log.compute_metrics(s1=True)["accuracy"]
    assert (accuracy.value, accuracy.unit) == (0.705, "share")
    assert accuracy.note == "imported from the log, unchanged by reviews: the file has 2 of 2,340"


def test_review_keeps_metrics_that_cannot_be_recomputed(tmp_path: Path) -> None:
    log = ImportedLog(write_scores(tmp_path / "log.json", "C", "I", accuracy=0.5, my_metric=12.0))
    metrics = log.compute_metrics(s1=True)
    assert metrics["accuracy"].value == 1.0
    assert (metrics["my_metric"].value, metrics["my_metric"].note) == (
        12.0,
        "imported from the log, unchanged by reviews",
    )


def test_metrics_of_a_part_of_the_items_are_computed_from_the_part(tmp_path: Path) -> None:
    log = write_partial_log(tmp_path / "log.json", accuracy=0.705)
    item = log.items[0]
    row = ScoredItem(item.id, item.category, None, item.official, metadata=item.extra.metadata)
    assert [metric.value for metric in compute_metrics([row], log.run)] == [1.0]


def test_deeply_nested_score_becomes_a_value_that_the_store_can_hold() -> None:
    """One such score must not prevent the import of the other samples of its log."""
    value: Any = math.nan
    for _ in range(5_000):
        value = [value]
    assert TOO_DEEP_TEXT in orjson.dumps(to_json_value(value)).decode()

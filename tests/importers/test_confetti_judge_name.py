"""The judge of dialog acts has the same name in exports and in the calibration."""

from __future__ import annotations

from pathlib import Path

from fcreview.store.label_fields import LabelSelection
from fcreview.store.rows import View
from tests.labels import fetch_labels
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns
from tests.sharing import Imports


def test_judge_of_dialog_acts_has_one_name(samples: Path, imports: Imports) -> None:
    runs = ReviewedRuns(imports.of([samples / "confetti"]))
    items = [runs.find_item(f"dialogacts_{number}") for number in range(3)]
    verdicts = [ItemVerdict(item, "item", "correct", True) for item in items]
    runs.store.reviews.rebuild(runs.make_events(verdicts))

    labels = [
        label
        for label in fetch_labels(runs.store, View(), LabelSelection("reviewed"))
        if label["criterion"] == "correct"
    ]
    exported = {
        verdict["by"]
        for label in labels
        for verdict in label["automatic"]
        if verdict["source"] == "judge"
    }
    calibrated = {
        pair.judge
        for pair in runs.store.analysis.fetch_verdict_pairs(View())
        if pair.source == "judge" and pair.criterion == "correct"
    }
    assert exported == calibrated == {"sample-classifier"}
    runs.close()

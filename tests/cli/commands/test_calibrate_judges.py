"""`fcreview calibrate` names each judge."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

SAMPLE = Path(__file__).parents[3] / "sample_runs/confetti"


def test_dialog_act_verdict_names_classifier(cli: Callable[..., Any], tmp_path: Path) -> None:
    run = tmp_path / "confetti"
    shutil.copytree(SAMPLE, run)
    assert cli("import", run).code == 0
    item = next(
        each
        for each in cli("items", run, "--where", "judge:pass category:dialogacts", "--json").objects
    )
    assert cli("label", run, item["id"], "--verdict", "fail", "--annotator", "ann").code == 0
    judges = {
        each["judge"]
        for each in cli("calibrate", run, "--json").objects
        if each.get("source") == "judge"
    }
    assert judges == {"sample-classifier"}

"""The decisive step is stored as a recomputed verdict, and a review of it changes no figure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path

from fcreview.model.verdict import DECISIVE_STEP
from tests.scores.reviewed import Reviewed, Said, changed

Opened = Callable[[Sequence[Path]], Reviewed]


def test_moving_every_decisive_step_changes_no_figure(samples: Path, opened: Opened) -> None:
    runs = opened([samples / "tau"])
    steps = [each for each in runs.automatic() if each.criterion == DECISIVE_STEP]
    assert {each.target for each in steps} == {"item"}
    assert len(steps) == 7
    before = runs.figures()
    moved = [Said(each.item, each.target, each.criterion, each.value + 1) for each in steps]
    assert changed(before, runs.figures(*runs.says(moved), *runs.says(steps, who="bob"))) == {}


def test_stored_steps_have_a_kind_and_a_sentence(samples: Path, opened: Opened) -> None:
    rows = opened([samples / "tau"]).store.run_sql(
        "SELECT i.official, v.source, v.error_type, v.rationale FROM verdicts v JOIN items i USING (item)"
        f" WHERE criterion = '{DECISIVE_STEP}'"
    )[1]
    assert {(official, source) for official, source, *_ in rows} == {(False, "rule")}
    assert all(kind and sentence.endswith(".") for *_, kind, sentence in rows)

"""Golden answers that the maintainers later corrected are among the first suspects in
bfcl_v1_july.
"""

from __future__ import annotations

import json
import random
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from fcreview.golden_audit.score import rank_suspects
from fcreview.importers.registry import discover, read_items
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace

pytestmark = pytest.mark.sweep
FIRST = 200


@pytest.fixture(scope="module")
def july(bench: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Store]:
    place = bench / "bfcl_v1_july"
    workspace = find_workspace(place, tmp_path_factory.mktemp("july"))
    import_runs(workspace, discover([place], data=[place / "data"]).plans, read_items, n_workers=1)
    with Store.open(workspace, "nobody") as store:
        yield store


@pytest.fixture(scope="module")
def corrected(bench: Path) -> set[str]:
    return set(
        json.loads((bench / "bfcl_v1_july" / "golden_later_corrected.json").read_text("utf-8"))
    )


def rank_ids(store: Store, runs: Sequence[int] = ()) -> list[str]:
    panel = store.analysis.fetch_audit_input(View(runs=tuple(runs)))
    return [each.question.key.id for each in rank_suspects(panel.questions, panel.run_profiles)]


def roc_area(ranked: Sequence[str], known: set[str]) -> float:
    """Return the probability that a known suspect is ranked before another item."""
    places = [at for at, item in enumerate(ranked) if item in known]
    before = sum(len(ranked) - 1 - at for at in places) - len(places) * (len(places) - 1) / 2
    return before / (len(places) * (len(ranked) - len(places)))


def test_roc_area() -> None:
    assert roc_area(["a", "b", "c", "d"], {"a", "b"}) == 1
    assert roc_area(["a", "b", "c", "d"], {"d"}) == 0
    assert roc_area(["a", "b", "c", "d"], {"a", "d"}) == 0.5


def test_most_corrected_answers_are_ranked_first(july: Store, corrected: set[str]) -> None:
    ranked = rank_ids(july)
    assert len(ranked) == 1000
    assert len(corrected) == 51
    assert sum(item in corrected for item in ranked[:FIRST]) >= 33
    assert roc_area(ranked, corrected) >= 0.82


def test_half_of_the_models_find_equally_many(july: Store, corrected: set[str]) -> None:
    runs = [row.run for row in july.fetch_runs()]
    draw = random.Random(7)
    for _ in range(3):
        ranked = rank_ids(july, draw.sample(runs, 6))
        assert sum(item in corrected for item in ranked[:FIRST]) >= 33
        assert roc_area(ranked, corrected) >= 0.82

"""Copies of published Inspect logs are equal without reviews, and have corrected results with
reviews.
"""

from __future__ import annotations

import math
import random
from collections.abc import Callable, Iterator, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from fcreview.exporters.export import export
from fcreview.exporters.inspect_log import check_and_count_log_copies
from fcreview.importers.inspect.log import open_log
from fcreview.importers.inspect.sample import LogSample
from fcreview.model.review import ITEM_CORRECT
from tests.examples import only_long
from tests.exporters.rewriting import ExportServices
from tests.scores.reviewed_runs import ItemVerdict, ReviewedRuns, Values

pytestmark = [pytest.mark.bench, pytest.mark.sweep]
OpenRuns = Callable[[Sequence[Path]], ReviewedRuns]
FOLDERS = ("inspect", pytest.param("inspect_bfcl", marks=only_long))


def export_copies(runs: ReviewedRuns, place: Path, out: Path) -> dict[int, Path]:
    """Export all runs and return the path of the copy of each run."""
    export(runs.store, "inspect", out, benchmarks=ExportServices([place]).benchmarks())
    copies = {}
    for row in runs.store.fetch_runs():
        path = Path(row.info.path)
        for copy in out.glob(f"{path.stem}-reviewed{path.suffix}"):
            copies[row.run] = copy
    assert len(copies) == len(list(out.iterdir()))
    return copies


def make_random_reviews(runs: ReviewedRuns, seed: int) -> Iterator[ItemVerdict]:
    """Override a third of the verdicts and confirm a third.

    Some items have only a review of a call.
    """
    draw = random.Random(seed)
    n_predicted = dict(runs.store.run_sql("SELECT item, n_predicted FROM items")[1])
    for one in runs.automatic_verdicts():
        kind = draw.randrange(6)
        if kind in (0, 1) and isinstance(one.value, bool):
            yield ItemVerdict(one.item, one.target, one.criterion, not one.value)
        elif kind in (2, 3):
            yield one
        elif kind == 4 and (one.target, one.criterion) == ITEM_CORRECT and n_predicted[one.item]:
            yield ItemVerdict(one.item, "turn:1/call:1", "correct", draw.random() < 0.5)


def read_results(path: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield each result with the name of its table in the report."""
    with open_log(path) as log:
        entries = (log.header.get("results") or {}).get("scores") or []
    for entry in entries:
        name, scorer, reducer = entry["name"], entry["scorer"], entry.get("reducer")
        title = scorer if name == scorer else f"{scorer}: {name}"
        yield f"{title} · {reducer}" if reducer else title, entry


def check_results(path: Path, run: int, corrected: Values) -> int:
    n_equal = 0
    by_name = {
        (table, name): value
        for (number, source, (table, _, name)), value in corrected.items()
        if (number, source) == (run, "corrected")
    }
    for table, entry in read_results(path):
        for key, metric in entry["metrics"].items():
            value, expected = metric["value"], by_name[table, key]
            if expected is None:
                assert value is None or math.isnan(value), (path.name, table, key)
            else:
                assert value == pytest.approx(expected, abs=1e-12), (path.name, table, key)
                n_equal += 1
    return n_equal


def check_means(path: Path) -> None:
    """Compare each plain accuracy with the mean of the values in the copy."""
    with open_log(path) as log:
        samples = [s.value for s in log.read_samples() if isinstance(s, LogSample)]
    for _, entry in read_results(path):
        plain = {
            key: each
            for key, each in entry["metrics"].items()
            if each.get("name", key) == "accuracy"
        }
        if (
            entry["name"] != entry["scorer"]
            or entry.get("reducer") not in (None, "mean")
            or not plain
        ):
            continue
        by_id: dict[str, list[float]] = {}
        for sample in samples:
            value = (sample.get("scores") or {}).get(entry["scorer"], {}).get("value")
            if value is not None and value == value:
                by_id.setdefault(str(sample["id"]), []).append(NUMBERS.get(value, value))
        expected = [sum(values) / len(values) for values in by_id.values()]
        for metric in plain.values() if expected else ():
            if not metric.get("params") or "to_float" not in metric["params"]:
                assert metric["value"] == pytest.approx(sum(expected) / len(expected), abs=1e-12), (
                    path.name
                )


NUMBERS: dict[Any, float] = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}


@pytest.mark.parametrize("folder", FOLDERS)
def test_results_of_copies_equal_corrected_metrics(
    bench: Path, open_runs: OpenRuns, tmp_path: Path, folder: str
) -> None:
    runs = open_runs([bench / folder])
    runs.store.reviews.rebuild([])
    originals = {row.run: Path(row.info.path) for row in runs.store.fetch_runs()}
    copies = export_copies(runs, bench / folder, tmp_path / "without")
    assert copies.keys() == originals.keys()
    for run, copy in copies.items():
        assert copy.read_bytes() == originals[run].read_bytes()
    events = runs.make_events(make_random_reviews(runs, 0))
    for event in events:
        event.time = "2026-01-01T00:00:00Z"
    corrected = runs.compute_metrics(*events)
    copies = export_copies(runs, bench / folder, tmp_path / "with")
    assert {originals[run].name for run in originals.keys() - copies.keys()} <= {
        "bfcl_A_killed.eval"
    }
    n_equal = 0
    for run, copy in copies.items():
        # The corrected column does not include the edits in a log.
        is_edited = "edited" in originals[run].name
        n_equal += 0 if is_edited else check_results(copy, run, corrected)
        check_means(copy)
    if find_spec("inspect_ai") is not None:  # `make packages`
        assert check_and_count_log_copies(tmp_path / "with") == len(copies)
    assert n_equal >= {"inspect": 20, "inspect_bfcl": 100}[folder]

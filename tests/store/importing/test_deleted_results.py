"""A model whose results are deleted, and perhaps restored, is listed once, with all its items."""

from __future__ import annotations

import shutil
from pathlib import Path

import duckdb
import pytest

from fcreview.importers.registry import discover, read_items
from fcreview.model.review import Annotation
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.rows import ImportSummary
from fcreview.store.store import Store, View
from fcreview.store.workspace import Workspace, find_workspace

MODEL = "maple-8b"


@pytest.fixture
def folder(tmp_path: Path, samples: Path) -> Path:
    """A folder with results, scores and dataset of two BFCL models, imported once."""
    copy = tmp_path / "bfcl"
    shutil.copytree(samples / "bfcl", copy)
    import_folder(copy)
    return copy


def import_folder(folder: Path, *paths: Path) -> ImportSummary:
    found = discover(list(paths or [folder]))
    return import_runs(open_workspace(folder), found.plans, read_items, issues=found.issues)


def open_workspace(folder: Path) -> Workspace:
    return find_workspace(folder, folder)


def count_items(folder: Path) -> dict[str, int]:
    """Return the number of items of each run, by the path of the run below the folder."""
    with Store.open(open_workspace(folder)) as store:
        rows = store.fetch_runs()
    return {str(Path(row.info.path).relative_to(folder)): row.n_items for row in rows}


@pytest.mark.parametrize("deleted", ["result", f"result/{MODEL}"])
def test_deleted_results_keep_the_last_import(folder: Path, tmp_path: Path, deleted: str) -> None:
    before = count_items(folder)
    with Store.open(open_workspace(folder), "alice") as store:
        reviewer = Reviewer(store, Journal(store.workspace, "alice"))
        for row in store.fetch_page(View(queue="failures"), 0, 3):
            reviewer.review(row.item, Annotation(verdict=True))

    shutil.move(folder / deleted, tmp_path / "kept")
    summary = import_folder(folder)
    statuses = {row["model"]: row["status"] for row in summary.runs}
    assert statuses[MODEL] == "kept"
    notices = [issue["what"] for issue in summary.issues if issue["severity"] == "notice"]
    assert (
        f"the results of run {MODEL} no longer exist. fcreview keeps the last import (39 items)"
        in (notices)
    )
    assert count_items(folder) == before

    shutil.move(tmp_path / "kept", folder / deleted)
    import_folder(folder)
    assert count_items(folder) == before
    with Store.open(open_workspace(folder)) as store:
        assert sum(row.reviewed for row in store.fetch_runs()) == 3


def test_changed_scores_of_deleted_results_are_named(folder: Path) -> None:
    shutil.rmtree(folder / "result" / MODEL)
    score = next((folder / "score" / MODEL).rglob("*_score.json"))
    lines = score.read_bytes().splitlines(keepends=True)
    score.write_bytes(b"".join(lines[:-1]))
    summary = import_folder(folder)
    assert [row["status"] for row in summary.runs if row["model"] == MODEL] == ["outdated"]
    assert any("does not import scores that changed" in issue["what"] for issue in summary.issues)


def test_results_replace_an_import_of_their_scores(folder: Path, tmp_path: Path) -> None:
    complete = count_items(folder)
    shutil.rmtree(folder / ".fcreview")
    shutil.move(folder / "result", tmp_path / "later")
    import_folder(folder)
    assert set(count_items(folder)) == {f"score/{MODEL}", f"score/{MODEL}-FC"}

    shutil.move(tmp_path / "later", folder / "result")
    import_folder(folder)
    assert count_items(folder) == complete


@pytest.mark.parametrize("are_deleted_again", [False, True])
def test_run_that_an_older_version_listed_twice_is_listed_once(
    folder: Path, tmp_path: Path, are_deleted_again: bool
) -> None:
    complete = count_items(folder)
    list_twice(folder, tmp_path)
    assert len(count_items(folder)) == 2 * len(complete)

    if are_deleted_again:
        shutil.rmtree(folder / "result")
    import_folder(folder)
    assert count_items(folder) == complete


def list_twice(folder: Path, tmp_path: Path) -> None:
    """Import the scores as a run of their own, as versions without the rule did."""
    shutil.move(folder / "result", tmp_path / "away")
    found = discover([folder])
    for plan in found.plans:
        plan.run.language = "en-old"  # the rule compares runs of one language
    import_runs(open_workspace(folder), found.plans, read_items)
    shutil.move(tmp_path / "away", folder / "result")
    change_language(folder, "en-old", "en")


def change_language(folder: Path, old: str, new: str) -> None:
    with duckdb.connect(folder / ".fcreview" / "store.duckdb") as connection:
        connection.execute(
            "UPDATE runs SET language = $2, key = replace(key, $1, $2) WHERE language = $1",
            [old, new],
        )


def test_runs_of_two_result_folders_with_one_score_folder_stay(
    folder: Path, tmp_path: Path
) -> None:
    """Only a run whose files are all in the other run is the same run."""
    second = folder / "second" / MODEL
    shutil.copytree(folder / "result" / MODEL, second)
    shutil.copytree(folder / "score" / MODEL, folder / "second_score" / MODEL)
    before = count_items(folder)
    import_folder(folder, second)
    after = count_items(folder)
    assert after == before | {f"second/{MODEL}": before[f"result/{MODEL}"]}


def test_same_results_with_other_scores_stay_a_run_of_their_own(folder: Path) -> None:
    before = count_items(folder)
    shutil.copytree(folder / "score", folder / "score_v1")
    import_folder(folder)
    with_both = count_items_by_run(folder)
    assert len(with_both) == 2 * len(before)
    shutil.rmtree(folder / "score_v1")
    import_folder(folder)
    assert count_items_by_run(folder) == with_both


def count_items_by_run(folder: Path) -> dict[int, int]:
    with Store.open(open_workspace(folder)) as store:
        return {row.run: row.n_items for row in store.fetch_runs()}

"""`report` and `estimate` take little time for many score columns and many tags."""

from __future__ import annotations

import json
import shutil
import zipfile
from pathlib import Path

import pytest

from fcreview.model.review import Annotation
from fcreview.store.reviewer import Reviewer
from fcreview.store.reviews.journal import Journal
from fcreview.store.store import Store, View
from tests.bombs.bounded import run_bounded
from tests.commands import environment
from tests.sharing import Imports

N_COLUMNS = 20_000
N_TAGS = 100_000
MAX_SECONDS = 30
MAX_MEGABYTES = 1_500


@pytest.mark.process
@pytest.mark.parametrize("command", ["report", "estimate"])
def test_header_with_20_000_score_columns(command: str, tmp_path: Path) -> None:
    write_log_with_columns(tmp_path / "run")
    run_command(command, tmp_path / "run", tmp_path, expected_lines=3 * N_COLUMNS)


def write_log_with_columns(folder: Path) -> None:
    folder.mkdir()
    metrics = {"accuracy": {"name": "accuracy", "value": 0.5}}
    scores = [
        {"name": f"s{number}", "scorer": f"s{number}", "metrics": metrics}
        for number in range(N_COLUMNS)
    ]
    header = {
        "version": 2,
        "status": "success",
        "eval": {
            "task": "task",
            "model": "model",
            "created": "2026-01-01T00:00:00",
            "dataset": {},
            "config": {},
        },
        "results": {"total_samples": 1, "completed_samples": 1, "scores": scores},
    }
    messages = [{"role": "user", "content": "question"}, {"role": "assistant", "content": "answer"}]
    sample = {
        "id": "s1",
        "epoch": 1,
        "input": "question",
        "target": "answer",
        "messages": messages,
        "scores": {"s0": {"value": "C"}},
    }
    with zipfile.ZipFile(folder / "log.eval", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("header.json", json.dumps(header))
        archive.writestr("samples/s1_epoch_1.json", json.dumps(sample))


@pytest.mark.process
@pytest.mark.parametrize("command", ["report", "estimate"])
def test_review_with_100_000_tags(
    command: str, tmp_path: Path, samples: Path, imports: Imports
) -> None:
    workspace = imports.copy([samples / "bfcl"], tmp_path / "copy")
    with Store.open(workspace, "eve") as store:
        item = store.fetch_page(View(queue="failures"), 0, 1)[0].item
        tags = [f"t{number}" for number in range(N_TAGS)]
        reviewer = Reviewer(store, Journal(workspace, "eve"))
        reviewer.review(item, Annotation(verdict=True, tags=tags))
    assert (workspace.reviews / "eve.jsonl").stat().st_size > 800_000
    run_command(command, workspace.parent_folder, tmp_path, expected_lines=50)


def run_command(command: str, folder: Path, tmp_path: Path, expected_lines: int) -> None:
    home = tmp_path / "home"
    home.mkdir()
    done = run_bounded([command, folder], tmp_path, environment(home), MAX_SECONDS)
    shutil.rmtree(home)
    assert done.code == 0, done.err
    assert len(done.out.splitlines()) >= expected_lines
    assert done.max_megabytes < MAX_MEGABYTES

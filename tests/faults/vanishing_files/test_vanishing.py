"""Files of a run vanish or change during the import: fcreview reports it, and the next import is
right.
"""

from __future__ import annotations

import random
import shutil
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.importing import workers
from tests.commands import Done, run_in_this_process
from tests.faults.hostile.limits import time_limit
from tests.faults.processes import times
from tests.faults.vanishing_files.vanishing import (
    KINDS,
    append_bytes,
    at_access,
    forbid,
    overwrite,
    replace,
)

ROOT = Path(__file__).resolve().parents[3]
BENCHMARKS = ["acebench", "bfcl", "complexfuncbench", "confetti", "generic", "hammerbench"]
WHAT = "FROM items SELECT * EXCLUDE (item, run, seq) ORDER BY id, file, line, category"
STAYS = [replace, forbid, append_bytes]
"""Events after which the file still exists."""


def check(done: Done) -> None:
    assert done.code in (0, 1), done.err
    for text in ("Traceback", "internal error"):
        assert text not in done.err + done.out, done.err + done.out
    if done.code:
        assert len(done.err.splitlines()) <= 3, done.err


@pytest.mark.sweep
@pytest.mark.parametrize("benchmark", BENCHMARKS)
def test_change_during_import_is_reported_and_next_import_is_right(
    tmp_path: Path, environ: dict[str, str], benchmark: str
) -> None:
    source, place = ROOT / "sample_runs" / benchmark, tmp_path / "runs"

    def items() -> list[dict[str, Any]]:
        with time_limit(60):
            return run_in_this_process(["sql", place, WHAT, "--json"], tmp_path, environ).objects

    def restore() -> None:
        for each in place.iterdir() if place.is_dir() else ():
            if each.name != ".fcreview":
                shutil.rmtree(each) if each.is_dir() else each.unlink()
        shutil.copytree(source, place, dirs_exist_ok=True)

    restore()
    with at_access(place, None) as watch:
        assert run_in_this_process(["import", place], tmp_path, environ).code == 0
    usual, often = items(), len(watch.asked)
    every = [(number, kind) for number in range(often) for kind in KINDS]
    cases = random.sample(every, min(times(1, 100), len(every)))
    for number, kind in cases:
        shutil.rmtree(place, ignore_errors=True)
        restore()
        print(f"{benchmark}: {number} of {often}, {kind.__name__}", flush=True)
        with time_limit(60), at_access(place, number, kind):
            done = run_in_this_process(["import", place, "--json"], tmp_path, environ)
        check(done)
        if place.is_dir():
            with time_limit(60):
                check(run_in_this_process(["report", place], tmp_path, environ))
        if kind in STAYS:
            then = items()
            shutil.rmtree(place / ".fcreview", ignore_errors=True)
            assert then == items(), "the import equals the files on disk"
        restore()
        again = items()
        assert [row for row in again if row in usual] == usual, "all items are the same as before"
        more = {row["id"] for row in again if row not in usual}
        # the changed files may have been imported as another run
        assert not more or kind is overwrite, more
    print(f"{benchmark}: {len(cases)} of {len(every)} moments and kinds")


@pytest.mark.sweep
def test_dataset_that_one_run_could_not_read_is_read_again(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both runs share the file, which returns with the same time and size."""
    place = shutil.copytree(ROOT / "sample_runs" / "bfcl", tmp_path / "runs")
    file, away = place / "data" / "BFCL_v4_simple_python.json", tmp_path / "away.json"
    real, read = workers.read_and_stage_run, []

    def read_run(*of: Any) -> Any:
        read.append(of)
        if len(read) == 2:
            file.rename(away)
        return real(*of)

    monkeypatch.setattr(workers, "read_and_stage_run", read_run)
    assert run_in_this_process(["import", place], tmp_path, environ).code == 0
    monkeypatch.undo()
    away.rename(file)
    rows = run_in_this_process(["items", place, "--json"], tmp_path, environ).objects
    known = [row["n_golden"] for row in rows if row["category"] == "simple_python"]
    assert len(read) == 2
    assert len(known) > 8
    assert all(known)

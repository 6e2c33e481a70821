"""`fcreview estimate` combines the items of runs without reviews, and prints the same figures."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from fcreview.store.analysis import UnblindedAnalysis
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace
from tests.examples import only_long
from tests.sharing import Imports

Cli = Callable[..., Any]


def list_combined_runs(folder: Path) -> list[bool]:
    """Return for each run whether its items are combined."""
    with Store.open(find_workspace(folder, folder)) as store:
        analysis = store.analysis
        found = [
            analysis.fetch_combined_sample_status(run, keep_part_verdicts=True)
            for run in sorted(store.runs)
        ]
    return [status is not None for status in found]


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), marks=only_long),
        pytest.param(("--plan", "--json"), marks=only_long),
        ("--json",),
    ],
)
def test_figures_of_combined_items_are_those_of_all_items(
    cli: Cli, imports: Imports, samples: Path, monkeypatch: pytest.MonkeyPatch, options: list[str]
) -> None:
    folder = imports.of([samples]).parent_folder
    assert all(list_combined_runs(folder))
    combined = cli("estimate", folder, *options)
    monkeypatch.setattr(UnblindedAnalysis, "fetch_combined_sample_status", lambda *_, **__: None)
    single = cli("estimate", folder, *options)
    assert (combined.code, combined.out, combined.err) == (0, single.out, single.err)
    assert "bfcl" in combined.out


def test_reviewed_and_sampled_runs_are_not_combined(
    cli: Cli, samples: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "bfcl"
    cli("import", samples / "bfcl", "--workspace", folder)
    assert list_combined_runs(folder) == [True, True]
    item = cli("items", samples / "bfcl", "--workspace", folder, "--run", 1, "--json").objects[0]
    labels = [samples / "bfcl", item["id"], "--run", 1, "--workspace", folder, "--verdict", "pass"]
    assert cli("label", *labels).code == 0
    assert list_combined_runs(folder) == [False, True]

    queue = ["queue", "create", samples / "bfcl", "--name", "pilot", "--workspace", folder]
    created = cli(*queue, "--run", 2, "--size", 5, "--annotators", "alice")
    assert created.code == 0, created.err
    assert list_combined_runs(folder) == [False, False]


def test_large_run_without_reviews_has_few_combined_items(tmp_path: Path, cli: Cli) -> None:
    header = {"fcreview": 1, "benchmark": "large", "model": "maple", "language": "en"}
    records = [
        {
            "id": f"item_{number}",
            "category": f"category {number % 3}",
            "messages": [{"role": "user", "content": "question"}],
            "verdicts": [{"source": "official", "value": number % 4 > 0}],
        }
        for number in range(4_000)
    ]
    lines = [json.dumps(each) for each in (header, *records)]
    (tmp_path / "run.jsonl").write_text("\n".join(lines))
    assert cli("import", tmp_path).code == 0
    with Store.open(find_workspace(tmp_path, tmp_path)) as store:
        status = store.analysis.fetch_combined_sample_status(1, keep_part_verdicts=True)
    assert status is not None
    assert status.combined_items is not None
    assert len(status.combined_items) == len(status.items) == 6
    assert sum(item.n_items for item in status.combined_items) == 4_000

"""`fcreview runs` sorts, filters and groups runs."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.commands import Done

Cli = Callable[..., Done]


@pytest.fixture(scope="module")
def runs_folder(samples: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the sample runs of some benchmarks."""
    folder = tmp_path_factory.mktemp("some-runs")
    for name in ("acebench", "bfcl", "hammerbench", "sessions", "tau"):
        shutil.copytree(samples / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def workspace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("runs") / "ws"


def test_runs_are_sorted_and_filtered(cli: Cli, runs_folder: Path, workspace: Path) -> None:
    def list_runs(*options: str) -> list[dict]:
        done = cli("runs", runs_folder, "--workspace", workspace, "--json", *options)
        assert done.code == 0, done.err
        return done.objects

    every = list_runs()
    assert [row["run"] for row in every] == sorted(row["run"] for row in every)
    rated = [row for row in list_runs("--sort", "official") if row["official_known"]]
    order = [(row["n_items"] < 30, -row["official_pass"] / row["official_known"]) for row in rated]
    assert order == sorted(order) and len(set(order)) > 2, "runs with few items are last"
    assert [row["official_known"] > 0 for row in list_runs("--sort", "official")] == [True] * len(
        rated
    ) + [False] * (len(every) - len(rated))
    assert [row["n_items"] for row in list_runs("--sort", "items")] == sorted(
        (r["n_items"] for r in every), reverse=True
    )
    filtered = list_runs("--only", "HAMMERbench")
    assert {row["benchmark"] for row in filtered} == {"hammerbench"}
    assert 0 < len(filtered) < len(every)
    table = cli("runs", runs_folder, "--workspace", workspace, "--only", "hammerbench").out
    assert f"{len(filtered)} run" in table and "acebench" not in table
    none = cli("runs", runs_folder, "--workspace", workspace, "--only", "kangaroo")
    assert (none.code, none.out) == (0, f"None of {len(every)} runs matches kangaroo\n")
    assert not list_runs("--only", "kangaroo")


def test_runs_are_grouped_and_reversed(cli: Cli, runs_folder: Path, workspace: Path) -> None:
    done = cli(
        "runs",
        runs_folder,
        "--workspace",
        workspace,
        "--json",
        "--group",
        "generation",
        "--sort",
        "items",
    )
    kinds = [row["group"] for row in done.objects]
    assert len(set(kinds)) > 3
    assert kinds == [kind for kind in dict.fromkeys(kinds) for _ in range(kinds.count(kind))], (
        "groups are contiguous"
    )
    sizes = [row["n_items"] for row in done.objects if row["group"] == kinds[0]]
    assert sizes == sorted(sizes, reverse=True)
    assert all(row["date"] for row in done.objects)
    table = cli(
        "runs", runs_folder, "--workspace", workspace, "--group", "generation"
    ).out.splitlines()
    assert sum(line.startswith(tuple(f"{kind}: " for kind in set(kinds))) for line in table) == len(
        set(kinds)
    )
    forth = [
        row["run"] for row in cli("runs", runs_folder, "--workspace", workspace, "--json").objects
    ]
    back = [
        row["run"]
        for row in cli("runs", runs_folder, "--workspace", workspace, "--json", "--reverse").objects
    ]
    assert back == forth[::-1]
    assert cli("runs", runs_folder, "--workspace", workspace, "--group", "colour").code == 2


def test_unknown_sort_order_is_refused(cli: Cli, runs_folder: Path, workspace: Path) -> None:
    done = cli("runs", runs_folder, "--workspace", workspace, "--sort", "colour")
    assert done.code == 2 and "choose run, model" in done.err

"""A run and its dataset in different folders, as with a shared or mounted dataset."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]


@dataclass(frozen=True)
class SeparateDataset:
    """Paths of a run and its dataset. `root` contains both."""

    root: Path
    run: Path
    data: Path
    """The folder of the dataset, for --data."""


def separate_dataset(run: Path, root: Path, data: str = "data") -> SeparateDataset:
    """Copy a run and its folder `data`. No importer finds the copied dataset without --data."""
    paths = SeparateDataset(root, root / "runs", root / "far" / "away" / "shared")
    shutil.copytree(
        run, paths.run, ignore=lambda _, names: [name for name in names if name == data]
    )
    shutil.copytree(run / data, paths.data)
    return paths


def count_facts(cli: Cli, path: Path, *more: str | Path) -> dict[str, int]:
    """Return the number of dataset files, items, recomputed verdicts, golden calls and questions
    at this path.
    """
    done = cli("items", path, "--json", *more)
    files = cli(
        "sql", path, "SELECT count(*) AS n FROM sources WHERE kind = 'data'", "--json", *more
    )
    assert (done.code, files.code) == (0, 0), done.err
    items = done.objects
    return files.objects[0] | {
        "items": len(items),
        "rule": sum(item["rule"] is not None for item in items),
        "golden": sum(item["n_golden"] for item in items),
        "questions": sum(bool(item["question"]) for item in items),
    }


def import_statuses(cli: Cli, path: Path, *more: str | Path) -> dict[str, str]:
    """Run `fcreview import` and return the status of each model."""
    done = cli("import", path, "--json", *more)
    return {each["model"]: each["status"] for each in done.objects if each["kind"] == "run"}

"""A run in one place, its dataset in another: what people have whose dataset is shared or mounted."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Cli = Callable[..., Any]


@dataclass(frozen=True)
class Separate:
    """`root` holds both: it is what can be moved as a whole."""

    root: Path
    run: Path
    data: Path
    """What is given with --data: the dataset's own folder."""


def separate(run: Path, root: Path, data: str = "data") -> Separate:
    """A copy of a run that has its dataset in its folder `data`; here it lies where no importer looks by itself."""
    place = Separate(root, root / "runs", root / "far" / "away" / "shared")
    shutil.copytree(run, place.run, ignore=lambda _, names: [name for name in names if name == data])
    shutil.copytree(run / data, place.data)
    return place


def known(cli: Cli, path: Path, *more: str | Path) -> dict[str, int]:
    """How much is known of the items of `fcreview items PATH`, and from how many files of the dataset."""
    done = cli("items", path, "--json", *more)
    files = cli("sql", path, "SELECT count(*) AS n FROM sources WHERE kind = 'data'", "--json", *more)
    assert (done.code, files.code) == (0, 0), done.err
    items = done.objects
    return files.objects[0] | {
        "items": len(items),
        "rule": sum(item["rule"] is not None for item in items),
        "golden": sum(item["n_golden"] for item in items),
        "questions": sum(bool(item["question"]) for item in items),
    }


def statuses(cli: Cli, path: Path, *more: str | Path) -> dict[str, str]:
    """Status by model, of `fcreview import`."""
    done = cli("import", path, "--json", *more)
    return {each["model"]: each["status"] for each in done.objects if each["kind"] == "run"}

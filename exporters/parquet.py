"""Parquet: one label a row, with types; opens in DuckDB, pyarrow, pandas.

Fields are those of the JSON Lines export. `automatic` and `opinions` are lists of structures; verdicts, which may be
truth values, numbers or lists, are JSON text: `true`, `2`, `["inform"]`, `"disputed"`. So are golden fixes, arguments
and function documents.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from fcreview.exporters.base import Sink, Source


def write(source: Source, out: Sink) -> None:
    from fcreview.store.labels.read import write_parquet

    with tempfile.TemporaryDirectory(prefix="fcreview-") as folder:
        path = Path(folder) / "labels.parquet"
        write_parquet(path, source.shapes, source.lines())
        with path.open("rb") as file:
            shutil.copyfileobj(file, out)

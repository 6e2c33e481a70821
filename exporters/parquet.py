"""Export labels as Parquet: one label per row, with typed columns, for DuckDB, pyarrow and pandas.

The fields are the same as in the JSON Lines export. `automatic` and `opinions` are lists of structures. Verdicts, which
may be booleans, numbers or lists, are JSON text (`true`, `2`, `["inform"]`, `"disputed"`). Golden fixes, arguments and
function docs are JSON text too.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from fcreview.exporters.base import ExportSource, Sink


def write(source: ExportSource, out: Sink) -> None:
    from fcreview.store.label_reader import write_parquet

    with tempfile.TemporaryDirectory(prefix="fcreview-") as folder:
        path = Path(folder) / "labels.parquet"
        write_parquet(path, source.label_field_types, source.label_lines())
        with path.open("rb") as file:
            shutil.copyfileobj(file, out)

"""Copy some items of a lake to a local store, to review them without the lake."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import replace

from fcreview.store.database import quote_literal
from fcreview.store.importing.builder import StoreBuilder, read_store_index
from fcreview.store.importing.run_importer import import_lock
from fcreview.store.lake.layout import TABLES
from fcreview.store.lake.reader import LakeConnection, connect_lake
from fcreview.store.rows import decode_item
from fcreview.store.workspace import Workspace, WorkspaceError

NEVER_IMPORTED = -1
"""Value of `runs.version` for a run of which only some items are stored. No importer has this version, so an import
reads the run again."""


def pull_items(lake: Workspace, item_numbers: Sequence[int]) -> Workspace:
    """Replace the store of the lake's workspace by one with these items. Returns the workspace without the lake.

    Raises: WorkspaceError if the workspace has imported runs; OSError if it cannot be written; StoreError if the lake
        cannot be read.
    """
    workspace = replace(lake, lake=None)
    index = read_store_index(workspace)
    if any(run.import_fingerprint != NEVER_IMPORTED for run in index.runs.values()):
        raise WorkspaceError(f"{workspace.root} has imported runs. Choose another folder with --workspace DIR")
    items = sorted(set(map(decode_item, item_numbers)))
    folder = workspace.temporary / str(os.getpid())
    with import_lock(workspace):
        workspace.files.make_folder(folder)
        try:
            connection = connect_lake(lake, {item >> 32 for item in items})
            try:
                _write_parquet(connection, items, str(folder))
            finally:
                connection.close()
            with StoreBuilder(workspace, folder, copy_existing=False) as builder:
                for table in ("runs", "sources", *TABLES):
                    builder.load_parquet("item_rows" if table == "items" else table, folder / f"{table}.parquet")
                builder.finish()
        finally:
            workspace.files.remove(folder)
    return workspace


def _write_parquet(connection: LakeConnection, items: Sequence[int], folder: str) -> None:
    selected = f"(SELECT unnest([{', '.join(map(str, items))}]::BIGINT[]))"
    connection.execute(f"CREATE TEMP TABLE pulled AS SELECT * FROM item_rows WHERE item IN {selected}")
    queries = {
        "runs": "SELECT * EXCLUDE (n) REPLACE (n AS n_items, -1 AS version) FROM runs"
        " JOIN (SELECT run, count(*) AS n FROM temp.pulled GROUP BY run) USING (run)",
        "sources": "SELECT * FROM sources WHERE run IN (SELECT run FROM temp.pulled)",
        "items": "SELECT * FROM temp.pulled ORDER BY item",
        "functions": "SELECT * FROM functions WHERE hash IN (SELECT unnest(functions) FROM temp.pulled)",
        "import_issues": "SELECT * FROM import_issues WHERE item IN (SELECT item FROM temp.pulled)",
    }
    for table, query in queries.items():
        connection.execute(f"COPY ({query}) TO {quote_literal(f'{folder}/{table}.parquet')} (FORMAT parquet)")

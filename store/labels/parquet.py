"""Parquet, written by DuckDB on a connection of its own: that of the store reaches no files.

Rows go through a file of JSON Lines, so memory does not grow with them. What is JSON in a label is text here.
"""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterable, Mapping
from pathlib import Path

import duckdb

from fcreview.store.connecting import with_room
from fcreview.store.labels.fields import JSON, TEXT, Shape

MEMORY = "256MB"
LINE = 1 << 24
"""Bytes of the longest line that DuckDB reads unless it is told of a longer one."""


def write_parquet(path: Path, shapes: Mapping[str, Shape], chunks: Iterable[list[str]]) -> None:
    """Writes rows with these fields, each the text of a JSON object, to `path`, which is replaced.

    OSError if the disk says no; StoreError if the largest of them take more memory than they may.
    """
    with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".rows.", suffix=".jsonl") as lines:
        longest = 0
        for chunk in chunks:
            text = "\n".join([*chunk, ""]).encode()
            longest = max(longest, *map(len, text.split(b"\n"))) if len(text) > LINE else longest
            lines.write(text)
        lines.flush()
        _convert(Path(lines.name), path, shapes, max(LINE, longest + 1))


def _convert(lines: Path, path: Path, shapes: Mapping[str, Shape], longest: int) -> None:
    columns = ", ".join(f"{_quoted(name)}: '{kind(shape)}'" for name, shape in shapes.items())
    texts = ", ".join(f'CAST("{name}" AS {kind(shape, json_as=TEXT)}) AS "{name}"' for name, shape in shapes.items())
    connection = duckdb.connect(config={"autoinstall_known_extensions": "false", "autoload_known_extensions": "false"})
    try:
        connection.execute(f"SET memory_limit = '{MEMORY}'")
        connection.execute("SET threads = 2")
        statement = (
            f"COPY (SELECT {texts} FROM read_json({_quoted(os.fspath(lines))}, format = 'newline_delimited',"
            f" columns = {{{columns}}}, maximum_object_size = {longest}))"
            f" TO {_quoted(os.fspath(path))} (FORMAT parquet, COMPRESSION zstd)"
        )
        with_room(connection, lambda: connection.execute(statement))
    except duckdb.IOException as error:
        raise OSError(str(error)) from error
    finally:
        connection.close()


def kind(shape: Shape, json_as: str = JSON) -> str:
    """The type as DuckDB writes it: `STRUCT("source" VARCHAR, "value" JSON)[]`."""
    if isinstance(shape, list):
        return f"{kind(shape[0], json_as)}[]"
    if isinstance(shape, dict):
        return f"STRUCT({', '.join(f'{json.dumps(name)} {kind(each, json_as)}' for name, each in shape.items())})"
    return json_as if shape == JSON else shape


def _quoted(text: str) -> str:
    doubled = text.replace("'", "''")
    return f"'{doubled}'"

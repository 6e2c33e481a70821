"""Large labels are written as Parquet up to the memory limit of one statement."""

from __future__ import annotations

import json
from pathlib import Path

import duckdb
import pytest

from fcreview.store import label_reader as read
from fcreview.store.database import StoreError
from fcreview.store.label_fields import JSON


@pytest.mark.slow
def test_large_rows_are_written(tmp_path: Path) -> None:
    row = json.dumps({"item": "a", "calls": [{"name": "f", "arguments": {"x": "y" * 4_000_000}}]})
    shapes = {"item": "VARCHAR", "calls": [{"name": "VARCHAR", "arguments": JSON}]}
    read.write_parquet(tmp_path / "labels", shapes, [[row] * 12] * 2)
    (count,) = duckdb.execute(
        "SELECT sum(length(calls[1].arguments)) FROM read_parquet(?)", [str(tmp_path / "labels")]
    ).fetchall()
    assert count == (24 * 4_000_008,)


def test_too_large_rows_are_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fcreview.store.database.MAX_MEMORY_LIMIT", "16MB")
    monkeypatch.setattr(read, "PARQUET_MEMORY_LIMIT", "16MB")
    row = json.dumps({"item": "a" * 4_000_000})
    with pytest.raises(StoreError, match="needs more than 16MB"):
        read.write_parquet(tmp_path / "labels", {"item": "VARCHAR"}, [[row] * 12])

"""Records of CSV files are read one by one, and an issue reports each that is left out."""

from __future__ import annotations

from pathlib import Path

import pytest

from fcreview.importers.common import csv_records
from fcreview.importers.common.csv_records import CsvRecord, read_csv_records
from fcreview.model.item import ImportIssue


@pytest.mark.parametrize("quote", ["", '"'], ids=["plain", "quoted"])
def test_line_that_is_too_long_is_reported_with_what_follows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, quote: str
) -> None:
    monkeypatch.setattr(csv_records, "MAX_LINE_BYTES", 1_000)
    path = tmp_path / "scored.csv"
    long_cell = f"{quote}{'x' * 2_000}{quote}"
    path.write_text(f"id,text\n1,short\n2,{long_cell}\n3,short\n")
    readings = list(read_csv_records(path))

    records = [reading.cells["id"] for reading in readings if isinstance(reading, CsvRecord)]
    assert records == ["1"]
    issues = [reading for reading in readings if isinstance(reading, ImportIssue)]
    assert issues[-1].what.endswith("so the rest of the file was skipped")
    assert all(issue.severity == "error" for issue in issues)
    assert not any("not terminated" in issue.what for issue in issues)

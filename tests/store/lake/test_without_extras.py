"""Missing s3fs or Dask is reported in one line that names the extra to install."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.commands import environment, run_in_this_process


@pytest.mark.parametrize(
    "arguments",
    [
        ["runs", "s3://bucket/lake", "--workspace", "."],
        ["import", "{samples}", "--lake", "s3://bucket/lake"],
        ["import", "{samples}", "--lake", "lake", "--dask", "tcp://127.0.0.1:1"],
    ],
)
def test_missing_extra_is_reported(
    arguments: list[str], tmp_path: Path, samples: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("s3fs", "distributed"):
        monkeypatch.setitem(sys.modules, name, None)
    done = run_in_this_process(
        [a.format(samples=samples / "generic") for a in arguments], tmp_path, environment(tmp_path)
    )
    assert done.code == 1
    assert "pip install 'fcreview[cluster]'" in done.err
    assert len(done.err.strip().splitlines()) == 1

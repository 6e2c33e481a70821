"""A folder with what people say golden answers should be: `golden.patch` for the dataset, `run.patch` for copies of
golden answers that runs hold, `changed.jsonl` with a line for each answer, and `issue.md`, a text for upstream.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

import orjson

from fcreview.exporters.base import ExportError, Source
from fcreview.exporters.golden.issue import issue_text
from fcreview.exporters.golden.settled import settled
from fcreview.exporters.golden.unified import unified
from fcreview.store.kept import read_source


def write(source: Source, folder: Path) -> None:
    """ExportError if no fix is settled."""
    found = settled(source)
    files, fixes = found.files, found.fixes
    if not fixes:
        raise ExportError("no golden fix is settled: give one with fcreview label --golden-fix")
    root = _root(files.dataset)
    _patch(folder / "golden.patch", root, files.dataset)
    if files.copies:
        _patch(folder / "run.patch", _root(files.copies), files.copies)
        source.benchmarks.tell(f"run.patch is for the runs' own copies of golden answers, in {_root(files.copies)}")
    lines = (orjson.dumps(each.as_json(root), option=orjson.OPT_APPEND_NEWLINE) for each in fixes)
    (folder / "changed.jsonl").write_bytes(b"".join(lines))
    (folder / "issue.md").write_text(issue_text([each.entry() for each in fixes], patch=True), "utf-8")
    source.benchmarks.tell(f"golden.patch is for {root}: git apply or patch -p1 there")
    source.counts = {"golden answer": len(fixes), "dataset file": len(files.dataset)}


def _root(paths: Iterable[Path]) -> Path:
    """The folder that patches are applied in: above `possible_answer`, which every dataset that has it calls so."""
    folders = [path.parent.parent if path.parent.name == "possible_answer" else path.parent for path in paths]
    return Path(os.path.commonpath([os.fspath(folder) for folder in folders]))


def _patch(path: Path, root: Path, contents: dict[Path, bytes]) -> None:
    parts = [
        unified(each.relative_to(root).as_posix(), read_source(each), new) for each, new in sorted(contents.items())
    ]
    path.write_bytes(b"".join(parts))

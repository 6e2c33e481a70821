"""The BFCL importer: Berkeley Function-Calling Leaderboard results and scores, file generations V1 to V4."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fcreview.figures import Figure, Scored
from fcreview.importers.bfcl.find import find
from fcreview.model import ImportIssue, Item, Run
from fcreview.plan import Found, RunPlan


class _Importer:
    name = "bfcl"
    title = "BFCL"
    version = 1
    looks_for = "BFCL_v*_CATEGORY_result.json, gorilla_openfunctions_v1_test_CATEGORY_result.json or *_score.json files"

    def find(self, files: Sequence[Path], data: Sequence[Path]) -> Found:
        return find(files, data)

    def read(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        from fcreview.importers.bfcl.read import read  # the checker and its parsers: not needed to find runs

        return read(plan)

    def figures(self, rows: Sequence[Scored], run: Run) -> list[Figure]:
        from fcreview.importers.bfcl.figures import figures

        return figures(rows, run)


BFCL = _Importer()

"""ACEBench, English and Chinese: normal, special and agent categories."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fcreview.figures import Figure, Scored
from fcreview.importers.acebench.find import find
from fcreview.model import ImportIssue, Item, Run
from fcreview.plan import Found, RunPlan


class AceBench:
    name = "acebench"
    title = "ACEBench"
    version = 1
    looks_for = "data_CATEGORY_result.json below result_en or result_zh"

    def find(self, files: Sequence[Path], data: Sequence[Path]) -> Found:
        return find(files, data)

    def read(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        from fcreview.importers.acebench.read import read  # not needed to find runs

        return read(plan)

    def figures(self, rows: Sequence[Scored], run: Run) -> list[Figure]:
        from fcreview.importers.acebench.figures import figures

        return figures(rows, run)


ACEBENCH = AceBench()

"""HammerBench, English and Chinese: flat logs and per-conversation folders."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fcreview.figures import Figure, Scored
from fcreview.importers.hammerbench.find import find
from fcreview.model import ImportIssue, Item, Run
from fcreview.plan import Found, RunPlan


class HammerBench:
    name = "hammerbench"
    title = "HammerBench"
    version = 1
    looks_for = "JSON arrays of {id, input, predict, label}, or folders with MT_res.json"

    def find(self, files: Sequence[Path], data: Sequence[Path]) -> Found:
        return find(files, data)

    def read(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        from fcreview.importers.hammerbench.read import read  # not needed to find runs

        return read(plan)

    def figures(self, rows: Sequence[Scored], run: Run) -> list[Figure]:
        from fcreview.importers.hammerbench.figures import figures

        return figures(rows, run)


HAMMERBENCH = HammerBench()

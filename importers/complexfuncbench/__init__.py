"""ComplexFuncBench: multi-step travel tasks, judged call by call."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fcreview.figures import Figure, Scored
from fcreview.importers.complexfuncbench.find import find
from fcreview.model import ImportIssue, Item, Run
from fcreview.plan import Found, RunPlan


class ComplexFuncBench:
    name = "complexfuncbench"
    title = "ComplexFuncBench"
    version = 1
    looks_for = "result/MODEL/EXPERIMENT.jsonl of {id, gen_convs, message, count_dict}"

    def find(self, files: Sequence[Path], data: Sequence[Path]) -> Found:
        return find(files, data)

    def read(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        from fcreview.importers.complexfuncbench.read import read  # not needed to find runs

        return read(plan)

    def figures(self, rows: Sequence[Scored], run: Run) -> list[Figure]:
        from fcreview.importers.complexfuncbench.figures import figures

        return figures(rows, run)


COMPLEXFUNCBENCH = ComplexFuncBench()

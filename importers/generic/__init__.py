"""The generic format: JSON Lines of your own, and OpenAI-style chat logs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fcreview.figures import Figure, Scored
from fcreview.importers.generic.find import find
from fcreview.model import ImportIssue, Item, Run
from fcreview.plan import Found, RunPlan


class Generic:
    name = "generic"
    title = "Generic"
    version = 1
    looks_for = "JSON Lines of {id, messages, ...} or OpenAI-style chat logs"

    def find(self, files: Sequence[Path], data: Sequence[Path]) -> Found:
        return find(files, data)

    def read(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        from fcreview.importers.generic.read import read  # not needed to find runs

        return read(plan)

    def figures(self, rows: Sequence[Scored], run: Run) -> list[Figure]:
        from fcreview.importers.generic.figures import figures

        return figures(rows, run)


GENERIC = Generic()

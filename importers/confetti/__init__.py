"""CONFETTI: single agent turns in human conversations, as calls and as dialog acts."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from fcreview.figures import Figure, Scored
from fcreview.importers.confetti.find import find
from fcreview.model import ImportIssue, Item, Run
from fcreview.plan import Found, RunPlan


class Confetti:
    name = "confetti"
    title = "CONFETTI"
    version = 1
    looks_for = "BFCL_v2_conversationsclean_result.json, BFCL_v2_dialogacts_result.json"

    def find(self, files: Sequence[Path], data: Sequence[Path]) -> Found:
        return find(files, data)

    def read(self, plan: RunPlan) -> Iterator[Item | ImportIssue]:
        from fcreview.importers.confetti.read import read  # not needed to find runs

        return read(plan)

    def figures(self, rows: Sequence[Scored], run: Run) -> list[Figure]:
        from fcreview.importers.confetti.figures import figures

        return figures(rows, run)


CONFETTI = Confetti()

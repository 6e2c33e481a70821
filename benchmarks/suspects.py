"""Measure how well `suspects` ranks golden answers that are known to be wrong, with all runs and
with fewer runs.

Usage: python benchmarks/suspects.py PATH KNOWN [--data DIR ...] KNOWN is a JSON list of item ids.
Prints recall among the first 50, 100 and 200 suspects and the area under the ROC curve for several
rankings: by failure rate alone, by score, without each kind of reason, by category, without each
run, with random halves of the runs and of the questions, and with few runs. Also prints the
processor time of reading and scoring.
"""

from __future__ import annotations

import argparse
import json
import random
import tempfile
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

from fcreview.golden_audit.score import REASON_CHANCES, Suspect, rank_suspects, score_suspect
from fcreview.importers.registry import discover, read_items
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.queries.golden_audit import AuditInput
from fcreview.store.rows import View
from fcreview.store.store import Store
from fcreview.store.workspace import find_workspace

FIRST = (50, 100, 200)
HALVES = 10


@dataclass(frozen=True)
class RankingQuality:
    """How well a ranking finds the known wrong golden answers."""

    known: int
    among: dict[int, int]
    area: float

    def line(self, label: str) -> str:
        counts = "  ".join(f"{count:>3} in first {first}" for first, count in self.among.items())
        return f"  {label:<44} {counts}   AUC {self.area:.3f}   ({self.known} known)"


def measure_ranking(order: Sequence[str], known: set[str]) -> RankingQuality:
    """Measure a ranking of ids, most suspect first.

    Known ids that are not in the ranking are ignored.
    """
    ranked_known = known & set(order)
    below = area = 0
    for item in reversed(order):
        if item in ranked_known:
            area += below
        else:
            below += 1
    among = {first: sum(item in ranked_known for item in order[:first]) for first in FIRST}
    return RankingQuality(
        len(ranked_known), among=among, area=area / max(below * len(ranked_known), 1)
    )


def list_ids(ranked: Iterable[Suspect]) -> list[str]:
    return [each.question.key.id for each in ranked]


def list_ids_by_failures(ranked: Iterable[Suspect]) -> list[str]:
    """Rank by the percentage of runs that fail. Ties keep dataset order."""
    cases = sorted((each.question for each in ranked), key=lambda case: case.key)
    return [
        case.key.id
        for case in sorted(cases, key=lambda case: -case.n_failing / max(len(case.runs), 1))
    ]


def list_ids_without(ranked: Sequence[Suspect], kinds: set[str]) -> list[str]:
    """Rank without these kinds of reasons."""
    chances = {kind: 0.0 if kind in kinds else chance for kind, chance in REASON_CHANCES.items()}
    return list_ids(
        sorted(
            (score_suspect(each.question, each.reasons, chances) for each in ranked),
            key=lambda each: -each.score,
        )
    )


@contextmanager
def open_imported_store(path: Path, data: list[Path]) -> Iterator[Store]:
    with tempfile.TemporaryDirectory() as folder:
        workspace = find_workspace(path, Path(folder) / "ws")
        import_runs(workspace, discover([path], data=data).plans, read_items)
        with Store.open(workspace, "nobody") as store:
            yield store


def measure_runs(store: Store, runs: Sequence[int], known: set[str]) -> RankingQuality:
    panel = store.analysis.fetch_audit_input(View(runs=tuple(runs)))
    return measure_ranking(list_ids(rank_suspects(panel.questions, panel.run_profiles)), known)


def report(store: Store, known: set[str]) -> None:
    start = time.process_time()
    panel = store.analysis.fetch_audit_input(View())
    read = time.process_time() - start
    ranked = rank_suspects(panel.questions, panel.run_profiles)
    scored = time.process_time() - start - read
    print(
        f"{len(ranked):,} questions, {len(panel.run_profiles)} runs; processor time {read:.2f} +"
        f" {scored:.2f} s"
    )
    print(measure_ranking(list_ids_by_failures(ranked), known).line("failure rate alone"))
    print(measure_ranking(list_ids(ranked), known).line("score"))
    for kind in REASON_CHANCES:
        print(measure_ranking(list_ids_without(ranked, {kind}), known).line(f"without {kind}"))
    for category in sorted({each.question.key.category for each in ranked}):
        own = [each for each in ranked if each.question.key.category == category]
        print(measure_ranking(list_ids(own), known).line(f"only {category}"))
        print(measure_ranking(list_ids_by_failures(own), known).line("  failure rate alone"))
    measure_halves_of_questions(panel, known)
    measure_fewer_runs(store, panel, known)


def measure_halves_of_questions(panel: AuditInput, known: set[str]) -> None:
    draw = random.Random(1)
    halves = []
    for _ in range(HALVES):
        half = draw.sample(panel.questions, len(panel.questions) // 2)
        halves.append(measure_ranking(list_ids(rank_suspects(half, panel.run_profiles)), known))
    print(format_spread("questions", halves, FIRST[-2]))


def format_spread(label: str, halves: Sequence[RankingQuality], first: int) -> str:
    areas, shares = (
        [half.area for half in halves],
        [half.among[first] / max(half.known, 1) for half in halves],
    )
    return (
        f"  {len(halves)} random halves of the {label}: {min(shares):.0%} to {max(shares):.0%} in"
        f" first {first},"
        f" mean {mean(shares):.0%}; AUC {min(areas):.3f} to {max(areas):.3f}, mean"
        f" {mean(areas):.3f}"
    )


def measure_fewer_runs(store: Store, panel: AuditInput, known: set[str]) -> None:
    runs = sorted(panel.run_profiles)
    for run in runs:
        rest = [each for each in runs if each != run]
        print(
            measure_runs(store, rest, known).line(f"without {panel.run_profiles[run].model}"[:44])
        )
    draw = random.Random(1)
    halves = [measure_runs(store, draw.sample(runs, len(runs) // 2), known) for _ in range(HALVES)]
    print(format_spread("runs", halves, FIRST[-1]))
    for few in (1, 3):
        drawn = draw.sample(runs, min(few, len(runs)))
        names = ", ".join(panel.run_profiles[run].model for run in drawn)
        print(measure_runs(store, drawn, known).line(f"only {names}"[:44]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("path", type=Path)
    parser.add_argument("known", type=Path)
    parser.add_argument("--data", action="append", default=[], type=Path)
    arguments = parser.parse_args()
    known = set(json.loads(arguments.known.read_text("utf-8")))
    with open_imported_store(
        arguments.path.resolve(), [folder.resolve() for folder in arguments.data]
    ) as store:
        report(store, known)


if __name__ == "__main__":
    main()

"""Measure the coverage of intervals for scores from 0 to 1: CONFETTI's soft score of a call and of
a chain of calls.

The recorded scores stand for the true scores. The automatic scores are the recorded scores with
some replaced by another record's score (in long chains more often than in short ones), or the
binary verdict as 1 or 0.

Usage: python benchmarks/coverage/answers.py BENCH [--repetitions N]   (BENCH: folder of published runs)
Prints a Markdown table with the coverage and the mean half-width of the interval in points, by setting, design, size.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parent))

from published import Flags, Setting, read_settings
from verdicts import DRAWS, SIZES, Population

from fcreview.importers.confetti.leaderboard import SOFT_SCORE_CRITERION
from fcreview.model.metric import ScoredItem
from fcreview.stats.answer_model import AnswerModel, CriterionAnswers
from fcreview.stats.estimation import UNEVEN_INTERVAL_PERCENTILES
from fcreview.stats.posterior import FloatArray, IntArray, ItemStatus

DESIGNS = ("uniform", "extended")
"""`extended`: half of the sample for the pass rate, as `queue extend` draws; the other half
uniform.
"""
FIGURES = ("per call", "product of a chain", "chains of 1", "chains of 2 and more")


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of the call records, chain by chain."""

    rows: list[ScoredItem]
    truth: FloatArray
    automatic: FloatArray
    starts: IntArray
    """Index of the first record of each chain."""

    def values(self, scores: FloatArray) -> list[FloatArray]:
        """Compute each figure from scores (draws, records)."""
        products = np.multiply.reduceat(scores, self.starts, axis=1)
        alone = np.diff(np.append(self.starts, len(self.rows))) == 1
        return [
            scores.mean(axis=1),
            products.mean(axis=1),
            *(products[:, of].mean(axis=1) for of in (alone, ~alone)),
        ]


def read_scores(setting: Setting, name: str) -> Scores:
    """Read the soft scores of a run as the truth, and make automatic scores from them.

    `name`: `binary` for scores of 1 or 0 by the official verdict, else the share of the automatic
    scores that are exchanged at random.
    """
    rows = sorted(
        (row for row in setting.rows if SOFT_SCORE_CRITERION in row.values), key=_sort_key
    )
    turns = [str(row.metadata["chain"]["turn"]) for row in rows]
    starts = np.array([at for at, turn in enumerate(turns) if at == 0 or turn != turns[at - 1]])
    truth = np.array([float(row.values[SOFT_SCORE_CRITERION]) for row in rows])
    if name == "binary":
        automatic = np.array([float(row.valid is True) for row in rows])
    else:
        generator, part = np.random.default_rng(3), float(name)
        length = np.array([int(row.metadata["chain"]["length"]) for row in rows])
        flipped = generator.random(len(rows)) < part * np.sqrt(length) / np.sqrt(length).mean()
        automatic = np.where(flipped, generator.permutation(truth), truth)
    return Scores(rows, truth=truth, automatic=automatic, starts=starts)


def _sort_key(row: ScoredItem) -> tuple[str, int]:
    return str(row.metadata["chain"]["turn"]), int(row.metadata["chain"]["position"])


def format_coverage(
    scores: Scores, setting: Setting, design: str, size: int, repetitions: int
) -> Iterator[str]:
    """Yield the coverage and the mean half-width of each figure's interval, in percent."""
    positions = {id(row): at for at, row in enumerate(setting.rows)}
    of = np.array([positions[id(row)] for row in scores.rows])
    population = Population(setting)
    true = [float(value[0]) for value in scores.values(scores.truth[np.newaxis])]
    hits, widths = np.zeros(len(FIGURES)), np.zeros(len(FIGURES))
    for repetition in range(repetitions):
        sample, probability = population.draw_items(
            design, size, "all items", np.random.default_rng([size, repetition, len(design)])
        )
        draws = draw_scores(
            scores, setting.automatic[of], np.isin(of, sample), probability[of], repetition
        )
        for at, values in enumerate(scores.values(draws)):
            low, high = np.percentile(values, UNEVEN_INTERVAL_PERCENTILES)
            hits[at] += low - 1e-9 <= true[at] <= high + 1e-9
            widths[at] += (high - low) / 2
    for hit, width in zip(hits, widths, strict=True):
        yield f"{100 * hit / repetitions:.1f} (±{100 * width / repetitions:.1f})"


def draw_scores(
    scores: Scores, verdicts: Flags, sampled: Flags, probability: FloatArray, seed: int
) -> FloatArray:
    """Return the scores in each draw, of shape (draws, records).

    Args:
        scores: The true and the automatic score of each record.
        verdicts: The automatic verdict of each record, by which extensions draw.
        sampled: Whether each record is in the sample.
        probability: The probability of each record to be in the sample.
        seed: The seed of the draws.
    """
    automatic_items = []
    statuses = []
    human_scores = []
    for index, row in enumerate(scores.rows):
        values = {**row.values, SOFT_SCORE_CRITERION: float(scores.automatic[index])}
        automatic_items.append(replace(row, values=values))
        is_sampled = bool(sampled[index])
        status = ItemStatus(
            row.category,
            automatic=bool(verdicts[index]),
            human=None,
            stratum=("",),
            inclusion_probability=float(probability[index]),
            is_sample_reviewed=is_sampled,
        )
        statuses.append(status)
        human_scores.append(float(scores.truth[index]) if is_sampled else None)

    flags = sampled.tolist()
    answers = CriterionAnswers(
        SOFT_SCORE_CRITERION, human=human_scores, is_reviewed=flags, has_sample_verdict=flags
    )
    model = AnswerModel(automatic_items, statuses, answers)
    known_scores = np.where(sampled, scores.truth, scores.automatic)
    draws = np.tile(known_scores, (DRAWS, 1))
    for draw, right_scores in zip(draws, model.draw_right_answers(DRAWS, seed), strict=True):
        draw[list(right_scores)] = list(right_scores.values())
    return draws


def main() -> None:
    """Print the coverage of the intervals for each kind of automatic score."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("bench", type=Path)
    parser.add_argument("--repetitions", type=int, default=200)
    parser.add_argument("--scores", default="", help="only scores with this text in their name")
    arguments = parser.parse_args()
    headings = [f"{design} {size}" for design in DESIGNS for size in SIZES]
    print(f"| soft score | figure | {' | '.join(headings)} |")
    print("|---" * (len(headings) + 2) + "|")
    with tempfile.TemporaryDirectory() as folder:
        setting = next(read_settings(arguments.bench, Path(folder), "CONFETTI, 20"))
        for name, word in (("0.05", "5 % flipped"), ("0.2", "20 % flipped"), ("binary", "1 or 0")):
            if arguments.scores not in word:
                continue
            scores = read_scores(setting, name)
            found = [
                list(format_coverage(scores, setting, d, n, arguments.repetitions))
                for d in DESIGNS
                for n in SIZES
            ]
            for figure, cells in zip(FIGURES, zip(*found, strict=True), strict=True):
                print(f"| {word} | {figure} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()

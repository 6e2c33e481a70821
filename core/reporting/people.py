"""What people did, as sections: how far they agree, how far they are, and how the items came to be reviewed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fcreview.agreement.ratings import Given
from fcreview.agreement.wording import HOW, name_of, value_of
from fcreview.reporting.blocks import Section, Text, table
from fcreview.text.words import count_of

if TYPE_CHECKING:  # figures of agreement need numpy: loaded where there are any
    from fcreview.agreement.summary import AgreementFigure

BY_HAND = (
    "Items that are in no queue were chosen by whoever reviewed them: their reviews count for these items and say "
    "nothing of the others."
)


@dataclass(frozen=True, slots=True)
class RunProgress:
    name: str
    items: int
    reviewed: int
    in_part: int


@dataclass(frozen=True, slots=True)
class Drawn:
    """A queue: a sample with known probabilities, and how far annotators are with it."""

    name: str
    created: str
    size: int
    population: int
    where: str
    stratify: str
    seed: int
    done: Mapping[str, str]
    """Annotator -> `12 of 80`."""


def agreement_section(found: Mapping[Given, Sequence[AgreementFigure]]) -> Section:
    """Overall figures, each way in which reviews were given apart."""
    title = "How far annotators agree"
    if not found:
        return Section(title, [Text("No item was reviewed by two annotators or more.")])
    heads = ["criterion", "figure", "annotators", "value", "95 % interval", "units", "labels"]
    parts = []
    for how, figures in found.items():
        rows = [
            [each.criterion, name_of(each), ", ".join(each.annotators), *value_of(each), f"{each.n_units:,}",
             f"{each.n_labels:,}"]
            for each in figures
        ]  # fmt: skip
        parts.append(Section(HOW[how], [table(heads, rows, (3, 4, 5, 6))]))
    return Section(title, [Text("Adjudications, stale and retracted reviews do not count; unsure is no label.")], parts)


def progress_section(runs: Sequence[RunProgress], queues: Sequence[Drawn]) -> Section:
    rows = [[run.name, f"{run.items:,}", f"{run.reviewed:,}", f"{run.in_part:,}"] for run in runs]
    blocks = [table(["run", "items", "reviewed", "only in part"], rows, (1, 2, 3))]
    shares = [[queue.name, name, done] for queue in queues for name, done in queue.done.items()]
    if shares:
        blocks.append(table(["queue", "annotator", "done"], shares))
    return Section("How far reviewing is", blocks)


def chosen_section(queues: Sequence[Drawn]) -> Section:
    rows = [
        [
            queue.name, f"{queue.size:,} of {queue.population:,}", queue.where or "all items",
            queue.stratify or "not stratified", str(queue.seed), queue.created,
        ]
        for queue in queues
    ]  # fmt: skip
    heads = ["queue", "drawn", "from", "strata", "seed", "made"]
    said = count_of(len(queues), "queue was", "queues were") + " drawn at random." if queues else "No queue was drawn."
    text = Text(f"{said} {BY_HAND}")
    return Section("How items were chosen", [text, table(heads, rows)] if rows else [text])

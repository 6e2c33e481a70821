"""`fcreview queue show`: how a queue was drawn, and its items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.commands.queue.list_ import summary
from fcreview.cli.common import Place, opened
from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, WorkspaceOption
from fcreview.cli.output import aligned, emit, emit_json, text_of
from fcreview.sanitise import visible
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.store.queues.file import QueueFile
    from fcreview.store.queues.progress import Progress


def show(
    path: PathArgument,
    name: Annotated[str, typer.Argument(metavar="NAME", help="The queue's name.", show_default=False)],
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Show how a queue was drawn, and how far it is.

    Strata, inclusion probabilities, shares and progress. With --json one object of the queue, then one of each item.

    Example: fcreview queue show runs/gpt4o pilot
    """
    with opened(Place([path], data, workspace, errata=errata)) as session:
        queue = session.store.take_queue(name)
        if as_json:
            emit_json(summary(session, queue) | {"strata": strata_of(queue), "runs": queue.design.runs})
            for item in items_of(queue):
                emit_json(item)
            return
        for line in lines_of(queue, session.store.progress(name)):
            emit(line)


def strata_of(queue: QueueFile) -> list[dict[str, Any]]:
    return [
        {"name": each.name, "size": each.size, "drawn": each.drawn, "probability": each.probability}
        for each in queue.strata
    ]


def items_of(queue: QueueFile) -> Iterator[dict[str, Any]]:
    """{benchmark, generation, language, model, category, id, stratum, probability, overlap, annotators}"""
    owners: dict[int, list[str]] = {}
    for share in queue.shares:
        for at in dict.fromkeys(share.order):
            owners.setdefault(at, []).append(share.annotator)
    for at, item in enumerate(queue.items):
        chance = {"stratum": item.stratum, "probability": item.probability, "overlap": item.overlap}
        yield {**item.key._asdict(), **chance, "annotators": owners.get(at, [])}


def lines_of(queue: QueueFile, done: list[Progress]) -> Iterator[str]:
    """Safe text."""
    design = queue.design
    by = f" in proportion to {visible(design.stratify)}" if design.stratify else ""
    yield f"{visible(queue.name)}: {design.size:,} of {count_of(design.population, 'item')}{by}, seed {design.seed}"
    yield f"from: {visible(design.where) or 'all items'}; made {visible(queue.created)}"
    yield f"{design.overlap:,} for everybody, {count_of(design.repeats, 'repeat')} in each share"
    yield ""
    chances = [[text_of(s.name) or "all", f"{s.size:,}", f"{s.drawn:,}", f"{s.probability:.4g}"] for s in queue.strata]
    yield from aligned(["stratum", "items", "drawn", "probability"], chances, right=(1, 2, 3))
    yield ""
    yield from aligned(["annotator", "done", "missing"], [[text_of(d.annotator), d.said, str(d.missing)] for d in done])

"""Draw samples to review, and share them out.

Samples have known probabilities; annotators get their shares.

Example: fcreview queue list runs/gpt4o
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.commands.estimate import HALF_WIDTH, HalfWidth, check_half_width, run_of
from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.options import (
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    PolicyOption,
    RunOption,
    WhereOption,
    WorkspaceOption,
    names_in,
)
from fcreview.cli.output import aligned, emit, emit_json, note, text_of
from fcreview.cli.workspace import Place, listed, opened
from fcreview.model.sanitize import visible
from fcreview.model.wording import count_of

if TYPE_CHECKING:
    from fcreview.cli.workspace import Opened
    from fcreview.model.metric import Figure
    from fcreview.stats.estimation import Draws
    from fcreview.store.queries.estimation import Sample, Standings
    from fcreview.store.queues.queue_file import Progress, QueueFile
    from fcreview.store.rows import RunRow


def list_(
    path: PathArgument,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List the queues of a workspace with each annotator's progress.

    Example: fcreview queue list runs/gpt4o --json
    """
    from fcreview.store.queues.queue_file import QueueError, read_queues

    with opened(Place([path], data, workspace, errata=errata)) as session:
        found = list(read_queues(session.workspace))
        for broken in found:
            if isinstance(broken, QueueError):
                note(f"fcreview: {broken}")
        queues = [each for each in found if not isinstance(each, QueueError)]
        if as_json:
            for queue in queues:
                emit_json(summary(session, queue))
            return
        rows = [
            [text_of(queue.name), f"{len(queue.items):,}", text_of(each.annotator), each.said]
            for queue in queues
            for each in session.store.progress(queue.name)
        ]
        for line in aligned(["queue", "items", "annotator", "done"], rows, right=(1,)) if rows else ():
            emit(line)
    note(count_of(len(queues), "queue file"))


def summary(session: Opened, queue: QueueFile) -> dict[str, Any]:
    """{queue, created, seed, where, stratify, size, overlap, repeats, population, annotators}, where `annotators` has
    {annotator, done, total, missing}: `total` counts an item that comes twice as two."""
    design = queue.design
    return {
        "queue": queue.name,
        "created": queue.created,
        **{name: getattr(design, name) for name in ("seed", "where", "stratify", "size")},
        **{name: getattr(design, name) for name in ("overlap", "repeats", "population")},
        "annotators": session.store.progress(queue.name),
    }


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


def create(
    path: PathArgument,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Of the queue, as --queue takes it.", show_default=False)
    ],
    annotators: Annotated[
        str,
        typer.Option(
            "--annotators", metavar="A,B,C", help="Who gets a share; separated by commas.", show_default=False
        ),
    ],
    where: WhereOption = "",
    run: RunOption = None,
    size: Annotated[
        int | None, typer.Option("--size", metavar="N", min=1, help="Items to draw.", show_default="all that match")
    ] = None,
    stratify: Annotated[
        str,
        typer.Option(
            "--stratify",
            metavar="BY",
            help="In proportion to each category (language, model, error, official ...), one of each at least;"
            " several joined by commas.",
        ),
    ] = "",
    overlap: Annotated[
        int, typer.Option("--overlap", metavar="N", min=0, help="Items of the sample that everybody gets.")
    ] = 0,
    repeats: Annotated[
        int, typer.Option("--repeats", metavar="N", min=0, help="Items of each share that come twice, unsaid.")
    ] = 0,
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed draws the same.")] = 0,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Draw a sample of items and share it out among annotators.

    Written to .fcreview/queues/NAME.json, with each item's inclusion probability; no queue is ever overwritten.
    Everybody reviews their own share with: fcreview open PATH --queue NAME --annotator WHO --blind

    Example: fcreview queue create runs/gpt4o --name pilot --where official:fail --size 200 --stratify category
    --overlap 50 --annotators alice,bob,carol --repeats 10 --seed 7
    """
    from fcreview.stats.sampling import Sharing
    from fcreview.store.queues.create import Wanted
    from fcreview.store.queues.queue_file import write_queue

    names = names_in(annotators)
    with opened(Place([path], data, workspace, errata=errata)) as session:
        sharing = Sharing(names, overlap, repeats, seed)
        wanted = Wanted(name, session.view(where, run=run), size, stratify, sharing)
        queue = session.store.drawn(wanted)
        file = write_queue(session.workspace, queue)
        if as_json:
            emit_json(summary(session, queue))
        else:
            for line in lines_of(queue, session.store.progress(name)):
                emit(line)
    note(
        f"queue {visible(name)}: {count_of(len(queue.items), 'item')} for {count_of(len(names), 'annotator')} in {file}"
    )


def extend(
    path: PathArgument,
    name: Annotated[
        str, typer.Option("--name", metavar="NAME", help="Of the queue to go on with.", show_default=False)
    ],
    target: Annotated[
        str,
        typer.Option(
            "--target",
            metavar="FIGURE",
            help="The figure whose interval is to shrink, as `estimate` calls it: 'BFCL overall', 'live_simple'.",
            show_default="the first one",
        ),
    ] = "",
    half_width: HalfWidth = HALF_WIDTH,
    size: Annotated[
        int | None, typer.Option("--size", metavar="N", min=1, help="At most so many items.", show_default="all needed")
    ] = None,
    run: RunOption = None,
    annotators: Annotated[
        str,
        typer.Option("--annotators", metavar="A,B,C", help="Who gets a share.", show_default="those of the queue"),
    ] = "",
    seed: Annotated[int, typer.Option("--seed", metavar="N", help="The same seed draws the same.")] = 0,
    policy: PolicyOption = "unanimous",
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """Draw what next shrinks a figure's interval fastest.

    Until it is as narrow as asked for. Written beside the queue as NAME-2, NAME-3 and so on; what was drawn before is
    not drawn again, and items of NAME that nobody has reviewed yet come first. `estimate` takes both as one sample.

    Example: fcreview queue extend runs/gpt4o --name pilot --target "BFCL overall" --half-width 2
    """
    from fcreview.stats.estimation import Wanted, extension
    from fcreview.store.queues.extend import Extension, extended, waiting
    from fcreview.store.queues.queue_file import write_queue

    check_half_width(half_width)
    names = names_in(annotators)
    with opened(Place([path], data, workspace, policy=policy, errata=errata)) as session:
        row, known, sample = _sampled(session, name, run)
        draws, figure = _drawn(session, row, known, target)
        points = {"share": 0.01, "percent": 1.0}.get(figure.unit)
        if points is None:
            raise UsageError(f"--target {figure.name}: points say something of rates only")
        ahead = waiting(known, sample)
        wanted = Wanted(figure.key, half_width * points, known.samples.index(sample), ahead, size)
        parts = extension(draws, wanted)
        if not parts:
            first = f" once the {count_of(len(ahead), 'item')} that wait are reviewed" if ahead else ""
            note(f"nothing to draw: {visible(figure.name)} is as narrow as ±{half_width:g}{first}")
            return
        queue = extended(session.workspace, known, Extension(sample, row, figure.name, parts, names, seed))
        file = write_queue(session.workspace, queue)
        if as_json:
            emit_json(summary(session, queue) | {"extends": name, "target": figure.name, "waiting": len(ahead)})
        else:
            for line in lines_of(queue, session.store.progress(queue.name)):
                emit(line)
    first = f" after the {len(ahead):,} of {visible(name)} that wait" if ahead else ""
    more = count_of(len(queue.items), "item")
    note(f"queue {visible(queue.name)}: {more} more for ±{half_width:g}{first}, in {file}")


def _sampled(session: Opened, name: str, run: str | None) -> tuple[RunRow, Standings, Sample]:
    """The run that the queue's items are of. CommandError if it is no random sample, or of several runs."""
    queue = session.queue_file(name)
    found = []
    problems: list[str] = []
    for row in session.chosen(run):
        known = session.store.told.standings(row.run)
        problems += known.problems
        found += [(row, known, sample) for sample in known.samples if name in sample.names]
    if len(found) > 1:
        runs = listed([row for row, _, _ in found])
        raise CommandError(f"queue {name} is of several runs, choose one with --run: {runs}")
    if not found:
        why = next((each for each in problems if each.startswith(f"queue {queue.name}:")), None)
        raise CommandError(why or f"queue {name} has no items here")
    return found[0]


def _drawn(session: Opened, row: RunRow, known: Standings, target: str) -> tuple[Draws, Figure]:
    from fcreview.stats.estimation import Depends, draws_of, why
    from fcreview.stats.estimation_answers import Answers

    run = run_of(session, row, known)
    figure = figure_called(target, run.figures(run.after), (row.info.benchmark, row.info.title))
    draws = draws_of(run)
    if draws is None:
        raise CommandError("nothing of the queue is reviewed yet, and what to draw next depends on that")
    depends = Depends(run, [Answers(run.before, run.standings, asked) for asked in run.asked], sampled=True)
    if criteria := depends.criteria(figure.key):
        raise CommandError(
            f"{figure.name} is made of {' and '.join(criteria)}, and what to draw next is worked out from verdicts on"
            " whole items only: draw more of all items with fcreview queue create"
        )
    if (method := depends.method(figure.key)) == "other verdicts":
        raise CommandError(f"{figure.name} cannot be estimated: {why(method)}")
    if figure.key not in draws.values:
        raise CommandError(f"{figure.name} cannot be estimated: fcreview estimate says why")
    return draws, figure


def figure_called(target: str, figures: Sequence[Figure], titles: tuple[str, ...]) -> Figure:
    """By name, with or without the benchmark or the table before it. UsageError for none or several."""
    said = target.strip().casefold()
    for title in titles:
        if title and said.startswith(title.casefold()):
            said = said[len(title) :].strip()
            break
    found = [one for one in figures if said in (one.name.casefold(), f"{one.table} {one.name}".casefold())]
    if not said:
        found = list(figures[:1])
    if len({one.key for one in found}) == 1:
        return found[0]
    names = ", ".join(f"{one.table} {one.name}" for one in (found or figures)[:8])
    raise UsageError(f"--target {target!r}: {'which of' if found else 'there are'} {names}")


COMMANDS = {"create": create, "extend": extend, "list": list_, "show": show}

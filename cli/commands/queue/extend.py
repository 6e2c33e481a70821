"""`fcreview queue extend`: the items that next shrink a figure's interval fastest."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.commands.queue.list_ import summary
from fcreview.cli.commands.queue.show import lines_of
from fcreview.cli.commands.reading.estimate import HALF_WIDTH, HalfWidth, check_half_width, run_of
from fcreview.cli.common import Place, opened
from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.opened import listed
from fcreview.cli.options import (
    AsJson,
    Data,
    ErrataOption,
    PathArgument,
    PolicyOption,
    RunOption,
    WorkspaceOption,
    names_in,
)
from fcreview.cli.output import emit, emit_json, note
from fcreview.sanitise import visible
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.cli.opened import Opened
    from fcreview.estimate.estimates import Draws
    from fcreview.figures import Figure
    from fcreview.store.estimating.samples import Sample
    from fcreview.store.estimating.standings import Standings
    from fcreview.store.rows import RunRow


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
    from fcreview.estimate.extension import Wanted, extension
    from fcreview.store.estimating.extending import Extension, extended, waiting
    from fcreview.store.queues.file import write_queue

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
    from fcreview.estimate.answers import Answers
    from fcreview.estimate.depends import Depends, why
    from fcreview.estimate.estimates import draws_of

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

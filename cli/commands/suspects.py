"""`fcreview suspects`: questions whose golden answer, wording or checker is likely to be wrong."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from fcreview.cli.options import AsJson, Data, ErrataOption, PathArgument, WhereOption, WorkspaceOption
from fcreview.cli.output import alert, cells, emit, emit_json
from fcreview.cli.workspace import Opened, Place, opened
from fcreview.model.sanitize import visible
from fcreview.model.wording import NO_DATASET, count_of

if TYPE_CHECKING:
    from fcreview.golden_audit.case import Alternative
    from fcreview.golden_audit.score import Suspect

SHOWN = 20
REASONS = 4
"""Reasons of an item in the table: the most telling."""
MODELS = 5
QUESTION = 150
"""Characters of the question."""
ONLY_FAILING = "There a golden answer is known of what fails only: 'of N runs' counts runs that fail"
ACTIONS = "In `fcreview open PATH --item ID`: g says that the golden answer is wrong, G mends it."


def suspects(
    path: PathArgument,
    where: WhereOption = "",
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit", metavar="N", min=1, help="At most N items; 20, or with --json all.", show_default=False
        ),
    ] = None,
    data: Data = None,
    errata: ErrataOption = None,
    workspace: WorkspaceOption = None,
    as_json: AsJson = False,
) -> None:
    """List questions whose golden answer looks wrong.

    Most suspect first, with reasons, over all runs at PATH and from the golden answers alone.
    --where chooses which questions are listed; the evidence stays that of all runs.
    With --json one line a question: {rank, score, benchmark, generation, language, category, id, reasons, n_runs,
    n_failing, alternative}.

    Example: fcreview suspects result/ --where category:live_simple
    """
    with opened(Place([path], data, workspace, errata=errata)) as session:
        found = ranked(session, where)
        if as_json:
            for rank, suspect in enumerate(found[:limit], 1):
                emit_json(fields_of(rank, suspect))
        else:
            print_suspects(found, limit or SHOWN)
        lacking = sum(run.info.lacks_dataset for run in session.runs)
        if lacking:
            alert(f"{lacking:,} of {count_of(len(session.runs), 'run')}: {NO_DATASET}. {ONLY_FAILING}")


def ranked(session: Opened, where: str) -> list[Suspect]:
    """Every question that the filter selects, most suspect first."""
    from fcreview.golden_audit.score import suspects as rank

    panel = session.store.told.panel(session.view(where))
    found = rank(panel.cases, panel.witnesses)
    return [each for each in found if panel.chosen is None or each.case.key in panel.chosen]


def fields_of(rank: int, suspect: Suspect) -> dict[str, Any]:
    """The JSON object of a question. `reasons` are texts, most telling first; `score` is 0 to 1; `alternative` is null
    or {answer, models, families}: the competing answer in words and who gave it (nobody: it follows from golden)."""
    other = suspect.alternative
    return {
        "rank": rank,
        "score": round(suspect.score, 4),
        **suspect.case.key._asdict(),
        "reasons": [reason.text for reason in suspect.reasons],
        "n_runs": len(suspect.case.runs),
        "n_failing": suspect.case.n_failing,
        "alternative": {"answer": other.answer, "models": list(other.models), "families": list(other.families)}
        if other
        else None,
    }


def print_suspects(found: Sequence[Suspect], limit: int) -> None:
    telling = sum(bool(each.reasons) for each in found)
    emit(f"{count_of(len(found), 'question')}, {telling:,} with a reason to doubt the golden answer")
    for rank, suspect in enumerate(found[:limit], 1):
        emit()
        for line in lines_of(rank, suspect):
            emit(line)
    if found:
        emit()
        emit(ACTIONS)
    if len(found) > limit:
        emit(f"… {count_of(len(found) - limit, 'more question')}: --limit N, or all with --json")


def lines_of(rank: int, suspect: Suspect) -> Iterator[str]:
    """`  1  0.92  simple_3  12 of 12 runs fail`, the question, the reasons, the competing answer."""
    case = suspect.case
    failing = f"{case.n_failing} of {count_of(len(case.runs), 'run')} fail"
    yield f"{rank:>3}  {suspect.score:.2f}  {visible(case.key.id)}  {visible(case.key.category)}  {failing}"
    question = " ".join(case.question.split())
    if question:
        yield from wrapped("asks", question if len(question) <= QUESTION else question[: QUESTION - 1] + "…")
    for reason in suspect.reasons[:REASONS]:
        yield from wrapped("-", reason.text)
    if len(suspect.reasons) > REASONS:
        yield from wrapped("-", f"and {count_of(len(suspect.reasons) - REASONS, 'more reason')}")
    if suspect.alternative:
        yield from wrapped("instead", _who(suspect.alternative))


def _who(other: Alternative) -> str:
    if not other.models:
        return other.answer
    more = f" and {len(other.models) - MODELS} more" if len(other.models) > MODELS else ""
    return f"{other.answer}  ({', '.join(other.models[:MODELS])}{more})"


def wrapped(mark: str, text: str) -> list[str]:
    """Lines below an item, as wide as the terminal."""
    indent = " " * 11
    first = f"{indent}{mark} "
    return textwrap.wrap(visible(text), max(cells(), 60), initial_indent=first, subsequent_indent=indent + "  ")

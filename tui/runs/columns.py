"""Runs as rows of a table: which columns say something, and which go first where there is no room for all. Pure."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from fcreview.sanitise import visible
from fcreview.store.comparing.run_lists import folder_of
from fcreview.store.rows import RunRow
from fcreview.text.columns import GAP, column_sizes
from fcreview.text.words import count_of
from fcreview.tui.queue.header import run_title
from fcreview.tui.runs.listing import Row, RunsPlace, rows_of
from fcreview.tui.text.choices import Choices
from fcreview.tui.text.format import cut_middle, rate_of, recomputed
from fcreview.tui.text.lines import Part
from fcreview.tui.text.table import Column
from fcreview.tui.text.theme import symbols

LEAST_MODEL = 12
SIDES = 3
"""Cells beside the table."""
STAYS, SORTED = 100, 99
"""Ranks of columns that are never left out: those that always stay, and the one that runs are sorted by."""
COLUMN_OF = {"reviewed": "by all", "yours": "by you", "date": "folder"}
"""Titles of columns that are called otherwise than the order."""


@dataclass(frozen=True, slots=True)
class Field:
    column: Column
    cell: Callable[[Row], Part]
    rank: int = STAYS
    """The lowest goes first where names of models would be cut."""


def run_choices(
    runs: Sequence[RunRow], place: RunsPlace, cells: int, *, selected: int | None = None, blind: bool = False
) -> Choices[int | str]:
    """Columns that would say nothing are left out. `selected`: the run under the cursor."""
    rows = rows_of(runs, place)
    titles = {run_title(run) for run in runs}
    alike = titles.pop() if len(titles) == 1 else ""
    lacking = [run.info.lacks_dataset for run in runs]
    shown = _fields(runs, place, several=not alike, blind=blind)
    sorted_by = COLUMN_OF.get(place.sort, place.sort)
    shown = [replace(each, rank=SORTED) if each.column.title == sorted_by != "model" else each for each in shown]
    fields = _fitting(shown, rows, cells - SIDES)
    values = [row.value for row in rows]
    said = [place.said, alike, "no dataset" if lacking and all(lacking) else ""]
    return Choices(
        title="runs",
        noun="run",
        columns=[each.column for each in fields],
        rows=[[each.cell(row) for each in fields] for row in rows],
        values=values,
        cursor=values.index(selected) if selected in values else 0,
        amount=len({run.run for row in rows for run in row.runs} if place.find else runs),
        note=f" {symbols().between} ".join(filter(None, said)),
        empty="no run has these words",
    )


def _fitting(fields: list[Field], rows: Sequence[Row], cells: int) -> list[Field]:
    """So many that no name is cut, if there is room for the rest that stays."""
    texts = [[each.cell(row)[0] for each in fields] for row in rows]
    sizes = column_sizes([each.column.title for each in fields], texts)
    kept = dict(zip(fields, sizes, strict=True))
    while sum(kept.values()) + GAP * (len(kept) - 1) > cells:
        lowest = min(kept, key=lambda each: each.rank)
        if lowest.rank >= SORTED:
            break
        del kept[lowest]
    return list(kept)


def _fields(runs: Sequence[RunRow], place: RunsPlace, *, several: bool, blind: bool) -> list[Field]:
    reviewed = any(run.reviewed or run.in_part for run in runs)
    lacking = [run.info.lacks_dataset for run in runs]
    folders = {folder_of(run) for run in runs}
    repeated = len({run.info.model for run in runs}) < len(runs)
    fields = [
        Field(Column("model", cut=_half, least=LEAST_MODEL), _name(place)),
        Field(Column("items", right=True), lambda row: (f"{_sum(row, 'n_items'):,}", ""), rank=6),
    ]
    if len(folders) > 1 and place.by not in ("date", "model"):
        fields.append(
            Field(
                Column("folder", cut=_half), _of_run(lambda run: (visible(folder_of(run)), "dim")), 9 if repeated else 2
            )
        )
    if several and place.by not in ("generation", "model"):
        fields.append(Field(Column("bench", least=7), _of_run(lambda run: (run_title(run), "dim")), rank=5))
    if not blind:
        fields.append(Field(Column("official", right=True), _official))
        if any(run.rule_known for run in runs):
            fields.append(Field(Column("rule", right=True), _rule, rank=4))
        fields.append(Field(Column("corrected", right=True), _corrected, rank=STAYS if reviewed else 3))
    if any(lacking) and not all(lacking):
        fields.append(Field(Column("dataset"), _of_run(_dataset), rank=7))
    fields.append(Field(Column("by you", right=True), lambda row: (f"{_sum(row, 'yours'):,}", ""), rank=8))
    if not blind and any(run.reviewed > run.yours for run in runs):
        fields.append(Field(Column("by all", right=True), lambda row: (f"{_sum(row, 'reviewed'):,}", ""), rank=7))
    if any(run.n_issues for run in runs):
        fields.append(Field(Column("issues", right=True), lambda row: (f"{_sum(row, 'n_issues'):,}", "warn"), rank=1))
    return fields


def _name(place: RunsPlace) -> Callable[[Row], Part]:
    """The model; in a group of one model what tells its runs apart."""

    def name(row: Row) -> Part:
        if row.group is not None:
            open_ = place.find or row.group.name in place.unfolded
            sign = symbols().unfolded if open_ else symbols().folded
            return f"{sign} {visible(row.group.name) or '(none)'}  {count_of(len(row.runs), 'run')}", "strong"
        if row.run is None:
            return "all runs", "strong"
        said = visible(row.run.info.model)
        if not row.inside:
            return ("  " if place.by else "") + said, ""
        return "    " + (f"{run_title(row.run)}  {visible(folder_of(row.run))}" if place.by == "model" else said), ""

    return name


def _sum(row: Row, name: str) -> int:
    return sum(getattr(run, name) for run in row.runs)


def _of_run(cell: Callable[[RunRow], Part]) -> Callable[[Row], Part]:
    """Of groups, and of all runs, nothing."""
    return lambda row: ("", "") if row.run is None else cell(row.run)


def _dataset(run: RunRow) -> Part:
    return "none" if run.info.lacks_dataset else "", "warn"


def _official(row: Row) -> Part:
    return (row.run.official_rate, "") if row.run is not None else _span(row, "official")


def _rule(row: Row) -> Part:
    if row.run is None:
        return _span(row, "rule")
    return recomputed(row.run.rule_pass, row.run.rule_known, row.run.n_items), ""


def _corrected(row: Row) -> Part:
    if row.run is None:
        return _span(row, "effective")
    return rate_of(row.run.effective_pass, row.run.effective_known, row.run.n_items), "strong"


def _span(row: Row, name: str) -> Part:
    """From the lowest to the highest rate of a group's runs, of those that are known whole."""
    if row.group is None:
        return "", ""
    every = [(getattr(run, f"{name}_pass"), getattr(run, f"{name}_known"), run.n_items) for run in row.runs]
    rates = [f"{100 * passed / known:.1f}" for passed, known, items in sorted(every, key=_rate) if known == items > 0]
    if not rates:
        return "", ""
    return (f"{rates[0]} %" if rates[0] == rates[-1] else f"{rates[0]}-{rates[-1]} %"), "dim"


def _rate(counts: tuple[int, int, int]) -> float:
    passed, known, _ = counts
    return passed / known if known else -1.0


def _half(text: str, cells: int) -> str:
    return cut_middle(text, cells, 1 / 2)

"""A run's tables as lines of text: what `fcreview report` prints and the screens show."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from fcreview.cli.output import aligned, text_of
from fcreview.reporting.lines import FigureLine, basis, shown_value, sources_of
from fcreview.text.numbers import number

if TYPE_CHECKING:
    from fcreview.cli.opened import Opened


def shown(head: dict[str, Any], lines: list[FigureLine], *, whole: bool = False) -> Iterator[str]:
    """`whole`: lines are not cut at the terminal's width."""
    words = [text_of(head[name]) for name in ("benchmark", "generation", "language", "model") if head[name]]
    first = f"run {head['run']}" if head["run"] is not None else "together"
    yield f"{first}   {'  '.join(words)}   {head['n_items']:,} items"
    sources = sources_of(lines)
    for table in dict.fromkeys(line.table for line in lines):
        part = [line for line in lines if line.table == table]
        cells = [
            [
                "  " * line.level + text_of(line.name),
                *(number(shown_value(line, source), line.unit, line.digits) for source in sources),
                "; ".join(filter(None, (basis(line), text_of(line.note)))),
            ]
            for line in part
        ]
        yield ""
        numbers = range(1, len(sources) + 1)
        for text in aligned([text_of(table), *sources, ""], cells, right=numbers, widest=44, whole=whole):
            yield text.rstrip()
    yield ""


def as_text(session: Opened, stopped: Callable[[], bool]) -> str:
    """All of its runs, or those up to when it is stopped. StoreError where verdicts are hidden from this annotator."""
    from fcreview.cli.reporting.parts import told
    from fcreview.text.words import NO_DATASET

    lines: list[str] = []
    for found in told(session, None, quiet=True):
        if stopped():
            break
        if found.row is not None and found.row.info.lacks_dataset:
            lines.append(NO_DATASET)
        lines += shown(found.head, found.lines, whole=True)
    return "\n".join(lines)

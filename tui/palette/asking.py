"""What the palette asks of the store and of what it was lent: queue files, ids, the report, exports."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.errors import FcreviewError
from fcreview.store.workspace import at_home
from fcreview.text.words import count_of

if TYPE_CHECKING:
    from fcreview.exporters.base import Benchmarks
    from fcreview.store.rows import View
    from fcreview.store.store import Store

WHOLE_RUNS = ("native", "golden-patch")
"""Formats that write whole runs, whatever the filter."""


@dataclass(frozen=True, slots=True)
class Lent:
    """What the command line lends to the screens: no screen knows an importer."""

    report: Callable[[Store, Sequence[int], Callable[[], bool]], str]
    """The tables of these runs (none: all) as text; what is there so far once the last says that nobody waits any more.
    StoreError in blind mode."""
    benchmarks: Callable[[Callable[[str], None]], Benchmarks]
    """Takes what hears of what could not be written."""


@dataclass(frozen=True, slots=True)
class QueueFiles:
    names: Sequence[str]
    mine: set[str]
    """Those with a share for the annotator who asks."""


def queue_files(store: Store) -> QueueFiles:
    from fcreview.store.queues.file import QueueError, queue_names, read_queue

    names, mine = queue_names(store.workspace), set()
    for name in names:
        try:
            if read_queue(store.workspace, name).share_of(store.annotator):
                mine.add(name)
        except QueueError:
            continue
    return QueueFiles(names, mine)


def is_there(path: str) -> bool:
    return bool(path) and os.path.exists(at_home(Path(path)))  # noqa: PTH110 - a name may be too long


@dataclass(frozen=True, slots=True)
class Export:
    format: str
    path: str
    view: View


def write(store: Store, wanted: Export, lent: Lent | None) -> str:
    """What was written, in words. FcreviewError says why nothing was."""
    from fcreview.exporters.base import ExportError
    from fcreview.exporters.export import STANDARD_OUTPUT, export

    if wanted.path == STANDARD_OUTPUT:
        raise FcreviewError("the screen is no place for an export: name a file")
    told: list[str] = []
    benchmarks = lent.benchmarks(told.append) if lent is not None else None
    whole = wanted.format in WHOLE_RUNS
    view = replace(wanted.view, where="", queue="dataset", share=False) if whole else wanted.view
    path = at_home(Path(wanted.path))
    try:
        counts = export(store, wanted.format, path, view, benchmarks=benchmarks)
    except ExportError as error:  # the reason first: the line may be short
        raise FcreviewError(f"not written: {str(error).removeprefix(f'{path}: ')}: {path}") from error
    said = " and ".join(count_of(number, noun) for noun, number in counts.items()) or "nothing"
    more = f"; {told[0]}" + (f", and {len(told) - 1} more" if len(told) > 1 else "") if told else ""
    return f"{said} of {'whole runs' if whole else 'the items shown'} in {wanted.path}{more}"

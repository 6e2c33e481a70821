"""Reports and exports that the screens start. Without Textual."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.errors import FcreviewError
from fcreview.model.wording import format_count
from fcreview.store.workspace import expand_home

if TYPE_CHECKING:
    from fcreview.exporters.base import Benchmarks
    from fcreview.store.rows import View
    from fcreview.store.store import Store

WHOLE_RUN_FORMATS = ("native", "golden-patch")
"""Formats that always contain whole runs, whatever the filter."""


@dataclass(frozen=True, slots=True)
class ReportServices:
    """Functions of the command line that the screens call, because no screen imports an importer."""

    format_report: Callable[[Store, Sequence[int], Callable[[], bool]], str]
    """Format the report of these runs (none: all runs). It stops early, with the tables made so far, once the last
    argument returns true. StoreError in blind mode."""
    open_benchmarks: Callable[[Callable[[str], None]], Benchmarks]
    """Give access to the benchmarks' own files. The argument receives warnings about values that cannot be written."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    format: str
    path: str
    view: View


def path_exists(path: str) -> bool:
    """Whether a file or folder has this path. `~` is the home folder."""
    return bool(path) and os.path.exists(expand_home(Path(path)))  # noqa: PTH110 - a name may be too long


def write_export(store: Store, request: ExportRequest, services: ReportServices | None) -> str:
    """Export the items of a view and return a one-line summary. FcreviewError if nothing was written."""
    from fcreview.exporters.base import ExportError
    from fcreview.exporters.export import STANDARD_OUTPUT, export

    if request.path == STANDARD_OUTPUT:
        raise FcreviewError("cannot export to the screen: enter a file name")
    warnings: list[str] = []
    benchmarks = services.open_benchmarks(warnings.append) if services is not None else None
    whole = request.format in WHOLE_RUN_FORMATS
    view = replace(request.view, where="", queue="dataset", share=False) if whole else request.view
    path = expand_home(Path(request.path))
    try:
        counts = export(store, request.format, path, view, benchmarks=benchmarks)
    except ExportError as error:  # the reason first, because the line may be cut
        raise FcreviewError(f"not written: {str(error).removeprefix(f'{path}: ')}: {path}") from error
    written = " and ".join(format_count(number, noun) for noun, number in counts.items()) or "nothing"
    more = f"; {warnings[0]}" + (f", and {len(warnings) - 1} more" if len(warnings) > 1 else "") if warnings else ""
    return f"{written} of {'whole runs' if whole else 'the items shown'} in {request.path}{more}"

"""Create the report and the exports that screens offer.

An app in a browser offers files as downloads, because it writes no files on the server. The module does not import
Textual.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

from fcreview.errors import FcreviewError
from fcreview.model.wording import format_count
from fcreview.store.workspace import expand_home

if TYPE_CHECKING:
    from textual.app import App

    from fcreview.exporters.base import BenchmarkServices
    from fcreview.stats.conventions import RunConventions
    from fcreview.store.rows import View
    from fcreview.store.store import Store
    from fcreview.tui.command_forms import CommandForm, CommandResult, CommandService

WHOLE_RUN_FORMATS = ("inspect", "native", "golden-patch")
"""Formats that export whole runs. The filter of the view does not apply to them."""


@dataclass(frozen=True, slots=True)
class ReportServices:
    """Report and benchmark functions that the command line passes to the screens, which must not import importers."""

    format_report: Callable[[Store, Sequence[int], Callable[[], bool]], str]
    """Formats the report of the runs with these numbers, or of all runs if the sequence is empty.

    The last argument is a function that returns true to cancel; the report then contains the tables made so far.
    Raises: StoreError in blind mode.
    """
    open_benchmarks: Callable[[Callable[[str], None]], BenchmarkServices]
    """Returns the functions that write benchmark files. The argument is a function that receives each warning about an
    omitted value."""
    commands: CommandService | None = None
    """Commands of the command line. None disables the forms of the palette."""
    compare_conventions: Callable[[Store, Sequence[int]], list[RunConventions]] | None = None
    """Computes figures of runs, such as pass^k, by the conventions of each tool. The arguments are the store and the
    numbers of the runs. An empty sequence selects all runs."""


@dataclass(frozen=True, slots=True)
class ExportRequest:
    """Export of the items of a view to a file or folder."""

    format: str
    path: str
    view: View


def path_exists(path: str) -> bool:
    """Whether a file or folder with this path exists. A leading `~` is replaced by the home folder."""
    return bool(path) and os.path.exists(expand_home(Path(path)))  # noqa: PTH110 - Path.exists raises for a long name


def write_export(store: Store, request: ExportRequest, services: ReportServices | None) -> str:
    """Export the items of a view and return a one-line summary.

    An existing file is replaced, because the palette has asked the user.

    Raises: FcreviewError if nothing was written.
    """
    from fcreview.exporters.base import ExportError
    from fcreview.exporters.export import STANDARD_OUTPUT, ExportOutput, export

    if request.path == STANDARD_OUTPUT:
        raise FcreviewError("cannot export to the terminal: enter a file name")
    warnings: list[str] = []
    benchmarks = services.open_benchmarks(warnings.append) if services is not None else None
    has_whole_runs = request.format in WHOLE_RUN_FORMATS
    view = replace(request.view, where="", queue="dataset", share=False) if has_whole_runs else request.view
    path = expand_home(Path(request.path))
    try:
        counts = export(store, request.format, path, view, output=ExportOutput(force=True), benchmarks=benchmarks)
    except ExportError as error:  # the reason comes first, because the line may be cut
        raise FcreviewError(f"not written: {str(error).removeprefix(f'{path}: ')}: {path}") from error
    summary = " and ".join(format_count(number, noun) for noun, number in counts.items()) or "nothing"
    summary += f" ({'whole runs' if has_whole_runs else 'items in the list'}) in {request.path}"
    if warnings:
        summary += f"; {warnings[0]}" + (f", and {len(warnings) - 1} more" if len(warnings) > 1 else "")
    return summary


def download_name(text: str) -> str:
    """Return the last part of a path that the user typed, as the name of a download."""
    name = Path(text.strip()).name
    return name if name.strip("-. ") else "download"


def deliver_download(app: App[Any], path: Path) -> None:
    """Offer a file to the browser, or a ZIP file of a folder. The caller may delete `path` afterwards."""
    if path.is_dir():
        path = Path(shutil.make_archive(str(path), "zip", path))
    app.deliver_binary(path, save_filename=path.name)


async def run_for_download(
    app: App[Any], commands: CommandService, form: CommandForm, arguments: Sequence[str]
) -> CommandResult:
    """Run the command of a form, and offer the file that it writes as a download."""
    flag = f"--{form.download}="
    with TemporaryDirectory(prefix="fcreview-") as folder:
        paths = {
            each: Path(folder) / download_name(each.removeprefix(flag))
            for each in arguments
            if form.download and each.startswith(flag)
        }
        result = await commands.run(
            form.command, [f"{flag}{paths[each]}" if each in paths else each for each in arguments]
        )
        for path in paths.values():
            if result.is_successful and path.exists():
                deliver_download(app, path)
    return replace(result, text=result.text.replace(f"{folder}/", ""))

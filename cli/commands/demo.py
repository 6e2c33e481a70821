"""`fcreview demo`: open a copy of the sample runs."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.commands.open import OpenOptions, show_queue
from fcreview.cli.options import AnnotatorOption, WorkspaceOptions, option
from fcreview.cli.output import can_show_app, emit, format_cell, print_message
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession

IGNORE_PACKAGE_FILES = shutil.ignore_patterns("__init__.py", "__pycache__", ".*")


def demo(
    output: Annotated[
        Path | None,
        option(
            "-o --output DIR",
            "Copy the sample runs to this folder.",
            show_default="a temporary folder",
        ),
    ] = None,
    into: Annotated[Path | None, typer.Option("--into", hidden=True)] = None,
    annotator: AnnotatorOption = None,
) -> None:
    """Open the sample runs.

    The samples are small runs of every supported benchmark. The command opens a copy, so that you
    can try every feature. Without a terminal, it prints the failures instead.

    Example: fcreview demo
    """
    folder = _copy_sample_runs(output or into)
    with open_workspace(WorkspaceOptions([folder], annotator=annotator)) as session:
        if can_show_app():
            show_queue(session, OpenOptions(overview=True))
            print_message(f"The sample runs and your reviews are in {folder}")
            return
        _print_failures(session)

    name = format_cell(str(folder))
    emit()
    emit(
        "There is no terminal for the app, so the failures are printed. The sample runs are in"
        f" {name}. Try:"
    )
    emit(f"  fcreview items {name} --where official:fail")
    emit(f"  fcreview open {name}")


def _print_failures(session: WorkspaceSession) -> None:
    """Print the failures of the demo run, grouped by reason."""
    from fcreview.cli.commands.triage import TriageTable, print_triage

    view = session.build_view()
    clusters = session.store.fetch_clusters(view)
    n_failures = sum(cluster.count for cluster in clusters)
    print_triage(session, view, TriageTable(clusters, n_failures))


def _copy_sample_runs(target: Path | None) -> Path:
    """Copy the sample runs to `target`, or to a temporary folder, and return the folder.

    A folder that already has a copy is left unchanged. Raises CommandError if `target` is a file or
    a folder with other files.
    """
    import tempfile
    from importlib.resources import as_file, files

    if target is not None and target.exists():
        has_copy = (target / ".fcreview").is_dir()
        is_empty = target.is_dir() and not any(target.iterdir())
        if has_copy and not is_empty:
            return target
        if not is_empty:
            raise CommandError(f"{target} is not an empty folder. Choose another folder")

    folder = target or Path(tempfile.mkdtemp(prefix="fcreview-demo-"))
    with as_file(files("fcreview.sample_runs")) as samples:
        shutil.copytree(samples, folder, ignore=IGNORE_PACKAGE_FILES, dirs_exist_ok=True)
    # The folder marks the copy, and becomes its workspace.
    (folder / ".fcreview").mkdir(exist_ok=True)
    return folder

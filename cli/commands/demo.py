"""`fcreview demo`: open a copy of the demo, or of the sample runs of all benchmarks."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from fcreview.cli.app_start import OpenOptions, show_queue
from fcreview.cli.options import AnnotatorOption, WorkspaceOptions, option
from fcreview.cli.output import can_show_app, emit, format_cell, print_message
from fcreview.cli.workspace_import import open_workspace
from fcreview.errors import CommandError

if TYPE_CHECKING:
    from fcreview.cli.workspace import WorkspaceSession

IGNORE_PACKAGE_FILES = shutil.ignore_patterns("__init__.py", "__pycache__", ".*")
DEMO_FOLDER = "demo"
DEMO_ANNOTATOR = "ada"
"""Annotator whose reviews the demo continues."""
WORKSPACE_FILES = {"reviews/*.journal": ".jsonl", "queues/*.queue": ".json"}
"""Pattern of journals and queue files of the demo -> their suffix in a workspace. In the package,
they have other suffixes, because `.jsonl` and `.json` files there are results.
"""


def demo(
    output: Annotated[
        Path | None,
        option(
            "-o --output DIR",
            "Copy the demo to this folder.",
            show_default="a temporary folder",
        ),
    ] = None,
    into: Annotated[Path | None, typer.Option("--into", hidden=True)] = None,
    all_: Annotated[
        bool, option("--all", "Also open small runs of every supported benchmark.")
    ] = False,
    annotator: AnnotatorOption = None,
) -> None:
    """Open a demo with three models and reviews.

    The command opens a copy as the annotator ada, so that you can try every feature. Without a
    terminal, it prints the failures instead.

    Example: fcreview demo
    """
    folder = _copy_sample_runs(output or into, has_all=all_)
    options = WorkspaceOptions([folder], annotator=annotator or DEMO_ANNOTATOR)
    with open_workspace(options) as session:
        if can_show_app():
            show_queue(session, OpenOptions(overview=True))
            print_message(f"The demo and your reviews are in {folder}")
            return
        _print_failures(session)

    name = format_cell(str(folder))
    emit()
    emit(
        "There is no terminal for the app, so the failures are printed."
        f" The demo is in {name}. Try:"
    )
    emit(f"  fcreview items {name} --where official:fail")
    emit(f"  fcreview open {name}")


def _print_failures(session: WorkspaceSession) -> None:
    """Print the failures of the demo run, grouped by reason."""
    from fcreview.cli.triage_output import TriageTable, print_triage

    view = session.build_view()
    clusters = session.store.fetch_clusters(view)
    n_failures = sum(cluster.count for cluster in clusters)
    print_triage(session, view, TriageTable(clusters, n_failures))


def _copy_sample_runs(target: Path | None, *, has_all: bool) -> Path:
    """Copy the demo to `target` or to a temporary folder, and return the folder.

    With `has_all`, all sample runs are copied. If `target` already has a copy, it is left
    unchanged. Raises CommandError if `target` is a file or a folder with other files.
    """
    import tempfile
    from importlib.resources import as_file, files

    if target is None:
        folder = Path(tempfile.mkdtemp(prefix="fcreview-demo-"))
    else:
        has_copy = (target / ".fcreview").is_dir()
        if has_copy:
            return target
        folder = target
        _check_is_new_or_empty(folder)

    with as_file(files("fcreview.sample_runs")) as samples:
        copied = samples if has_all else samples / DEMO_FOLDER
        shutil.copytree(copied, folder, ignore=IGNORE_PACKAGE_FILES, dirs_exist_ok=True)
    demo_folder = folder / DEMO_FOLDER if has_all else folder
    _move_to_workspace(demo_folder, folder / ".fcreview")
    return folder


def _check_is_new_or_empty(folder: Path) -> None:
    """Raise CommandError if there is a file at this path, or a folder that contains files."""
    if not folder.exists():
        return
    is_empty_folder = folder.is_dir() and not any(folder.iterdir())
    if not is_empty_folder:
        raise CommandError(f"{folder} is not an empty folder. Choose another folder")


def _move_to_workspace(demo_folder: Path, workspace: Path) -> None:
    """Move the journals and queue files of the demo to the workspace, and remove their folders."""
    for pattern, suffix in WORKSPACE_FILES.items():
        for path in sorted(demo_folder.glob(pattern)):
            target = workspace / path.parent.name / path.with_suffix(suffix).name
            target.parent.mkdir(parents=True, exist_ok=True)
            path.rename(target)
        folder_name, _, _ = pattern.partition("/")
        (demo_folder / folder_name).rmdir()

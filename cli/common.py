"""From the paths a person names to an open store: find the workspace, find the runs, import what is new."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.config import Config, load_config
from fcreview.cli.errors import CommandError, UsageError
from fcreview.cli.output import note
from fcreview.cli.session import Session, policy_of
from fcreview.rollup import UNANIMOUS
from fcreview.words import count_of

if TYPE_CHECKING:
    from fcreview.plan import Found
    from fcreview.store.rows import ImportSummary
    from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Place:
    """What was named on the command line: where the runs are, and where to look for and keep what belongs to them."""

    paths: Sequence[Path]
    data: Sequence[Path] | None = None
    workspace: Path | None = None
    format: str | None = None
    annotator: str | None = None
    policy: str = UNANIMOUS


def data_folders(named: Sequence[Path] | None, config: Config) -> list[Path]:
    """--data, then FCREVIEW_DATA (folders joined like PATH), then the configuration; each once.

    CommandError if one that was named by --data is not there.
    """
    for folder in named or ():
        if not folder.exists():
            raise CommandError(f"no such folder: --data {folder}")
    environment = [Path(each) for each in os.environ.get("FCREVIEW_DATA", "").split(os.pathsep) if each]
    return list(dict.fromkeys(each.absolute() for each in [*(named or ()), *environment, *config.data]))


def workspace_of(place: Place, *, create: bool = True) -> Workspace:
    """The workspace of the paths that were named; of several, that of the folder they have in common."""
    from fcreview.store.workspace import find_workspace

    start = place.paths[0]
    if len(place.paths) > 1 and place.workspace is None:
        start = Path(os.path.commonpath([path.resolve() for path in place.paths]))
        if start in (Path(start.anchor), Path.home()):
            raise CommandError("these paths share no folder: say where to keep the reviews with --workspace DIR")
    return find_workspace(start, place.workspace, create=create)


def searched(place: Place) -> list[Path]:
    """Where runs are looked for: at the paths, for a workspace folder itself beside it. CommandError if a path is not
    there."""
    for path in place.paths:
        if not path.exists():
            raise CommandError(f"no such file or folder: {path}")
    paths = [path.resolve() for path in place.paths]
    return [path.parent if path.name == ".fcreview" else path for path in paths]


def discovered(place: Place, config: Config) -> Found:
    """The runs at the paths. CommandError if a path is not there."""
    from fcreview.importers.registry import IMPORTERS, discover

    if place.format is not None and place.format not in IMPORTERS:
        raise UsageError(f"no format {place.format!r}: there are {', '.join(sorted(IMPORTERS))}")
    return discover(searched(place), data=data_folders(place.data, config), format=place.format)


def bring_in(place: Place, found: Found) -> tuple[Workspace, ImportSummary]:
    """Imports what is new or changed of the runs found. Where there are none, only a workspace that is there already
    will do: CommandError otherwise, and no folder is made."""
    from fcreview.cli.progress import Progress
    from fcreview.importers.registry import read_plan
    from fcreview.store.importing.import_runs import import_runs
    from fcreview.store.rows import ImportSummary
    from fcreview.store.workspace import WorkspaceError

    if not found.plans:
        summary = ImportSummary(issues=[asdict(issue) for issue in found.issues])
        try:
            return workspace_of(place, create=False), summary
        except WorkspaceError:
            raise CommandError(nothing_found(place, summary)) from None
    workspace = workspace_of(place)
    progress = Progress()
    try:
        return workspace, import_runs(workspace, found.plans, read_plan, issues=found.issues, progress=progress)
    finally:
        progress.close()


@contextmanager
def opened(place: Place) -> Iterator[Session]:
    """The workspace of the paths, brought up to date. CommandError if there is nothing to show."""
    policy = policy_of(place.policy)
    config = load_config()
    workspace, scope = up_to_date(place, config)
    session = Session(workspace, annotator_of(place, config), scope, policy)
    try:
        yield session
    finally:
        session.close()


def up_to_date(place: Place, config: Config) -> tuple[Workspace, tuple[int, ...]]:
    """The workspace with all that lies at the paths, and the runs that were named (none: all). Where nothing changed
    since the last time, no importer is asked."""
    from fcreview.cli.seen import Seen
    from fcreview.store.workspace import WorkspaceError

    seen = Seen(searched(place), data_folders(place.data, config), place.format)
    with suppress(WorkspaceError):
        workspace = workspace_of(place, create=False)
        runs = seen.runs(workspace)
        if runs is not None:
            return workspace, runs
    found = discovered(place, config)
    seen.note(found.plans)
    workspace, summary = bring_in(place, found)
    usable = [row for row in summary.runs if row["status"] != "failed" or row["items"]]
    tell_failures(summary)
    if not usable and (summary.runs or not is_place_of(workspace, place.paths)):
        raise CommandError(nothing_found(place, summary))
    scope = scope_of(workspace, place, usable)
    if all(row["status"] != "failed" for row in summary.runs):
        seen.keep(workspace, scope)
    return workspace, scope


def annotator_of(place: Place, config: Config) -> str:
    """--annotator, FCREVIEW_ANNOTATOR, the configuration, git's user name or the login.

    AnnotatorError if a name that was given cannot be a file's name.
    """
    from fcreview.store.annotators import check_annotator
    from fcreview.store.workspace import default_annotator

    if place.annotator is not None:
        return check_annotator(place.annotator)
    if config.annotator and not os.environ.get("FCREVIEW_ANNOTATOR"):
        return check_annotator(config.annotator)
    return default_annotator()


def is_place_of(workspace: Workspace, paths: Sequence[Path]) -> bool:
    """Whether the paths name the workspace's own folder, and something was imported there."""
    own = {workspace.root.resolve(), workspace.place.resolve()}
    return workspace.store.exists() and all(path.resolve() in own for path in paths)


def scope_of(workspace: Workspace, place: Place, rows: Sequence[dict[str, Any]]) -> tuple[int, ...]:
    if is_place_of(workspace, place.paths):
        return ()
    return tuple(sorted(row["run"] for row in rows))


def tell_failures(summary: ImportSummary) -> None:
    """Runs that could not be read, on stderr: what follows is without them."""
    failed = [row for row in summary.runs if row["status"] == "failed"]
    for row in failed[:3]:
        reason = next((i["what"] for i in summary.issues if i["file"] == row["path"] and i["severity"] == "error"), "")
        note(f"fcreview: {reason or 'not imported: ' + row['model']}")
    if len(failed) > 3:
        note(f"fcreview: {count_of(len(failed) - 3, 'more run')} could not be read: fcreview import shows them")


def nothing_found(place: Place, summary: ImportSummary) -> str:
    where = ", ".join(str(path) for path in place.paths)
    if summary.runs:
        return f"no run could be imported from {where}"
    errors = [issue for issue in summary.issues if issue["severity"] != "notice"]
    why = f": {errors[0]['file']}: {errors[0]['what']}" if errors else ""
    return f"no runs found in {where}{why} (fcreview doctor says what was looked at)"

"""From the paths a person names to an open store: find the workspace, find the runs, import what is new."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fcreview.cli.config import Config, load_config
from fcreview.cli.errors import CommandError, one_of
from fcreview.cli.opened import Opened
from fcreview.rollup import POLICIES, UNANIMOUS

if TYPE_CHECKING:
    from fcreview.plan import Found, RunPlan
    from fcreview.store.importing.datasets import Remembered
    from fcreview.store.rows import ImportSummary
    from fcreview.store.workspace import Workspace


LARGEST = 1 << 30
"""Bytes of a file that a person names to be taken in at once."""


def read_named(path: Path) -> bytes:
    """What a person named: a file, or a pipe that is read to its end. OSError for more than `LARGEST` bytes, as a
    device may give."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        content = file.read(LARGEST + 1) if size <= LARGEST else b""
    if max(size, len(content)) > LARGEST:
        raise OSError(errno.EFBIG, f"more than {LARGEST:,} bytes", os.fspath(path))
    return content


@dataclass(frozen=True, slots=True)
class Place:
    """What was named on the command line: where the runs are, and where to look for and keep what belongs to them."""

    paths: Sequence[Path]
    data: Sequence[Path] | None = None
    workspace: Path | None = None
    format: str | None = None
    annotator: str | None = None
    policy: str = UNANIMOUS
    forget_data: bool = False
    """The datasets that were named before do not hold any more."""
    decoder: str | None = None
    """What is to read the replies of BFCL runs, as `decoders.checked` has it."""
    errata: str | None = None
    """A file of errata that runs are read with from now on, or `finding.errata.NONE`."""


def named_folders(place: Place) -> tuple[Path, ...]:
    """Those of --data, absolute. CommandError if one is not there."""
    for folder in place.data or ():
        if not os.path.exists(folder):  # noqa: PTH110 - its name may be too long
            raise CommandError(f"no such folder: --data {folder}")
    return tuple(dict.fromkeys(Path(os.path.abspath(each)) for each in place.data or ()))  # noqa: PTH100 - links stay


def data_folders(place: Place, config: Config) -> list[Path]:
    """--data, then FCREVIEW_DATA (folders joined like PATH), then the configuration; each once."""
    environment = [Path(each) for each in os.environ.get("FCREVIEW_DATA", "").split(os.pathsep) if each]
    standing = [each.absolute() for each in [*environment, *config.data]]
    return list(dict.fromkeys([*named_folders(place), *standing]))


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
    """The runs at the paths, each with its dataset. CommandError if a path is not there."""
    from fcreview.cli.finding.datasets import Folders, with_datasets
    from fcreview.importers.registry import IMPORTERS, discover

    if place.format is not None:
        one_of(sorted(IMPORTERS), place.format, "format")
    paths, standing = searched(place), data_folders(replace(place, data=None), config)

    def search(folders: Folders) -> Found:
        return discover(paths, data=[*folders, *standing], format=place.format)

    remembered = None if place.forget_data else remembered_of(place)
    named = named_folders(place)
    return search(named) if remembered is None else with_datasets(search, named, remembered)


def remembered_of(place: Place) -> Remembered | None:
    """The datasets that were named before; None where there is no workspace yet."""
    from fcreview.store.importing.datasets import Remembered
    from fcreview.store.workspace import WorkspaceError

    try:
        return Remembered(workspace_of(place, create=False))
    except WorkspaceError:
        return None


def bring_in(place: Place, found: Found, config: Config) -> tuple[Workspace, ImportSummary]:
    """Imports what is new or changed of the runs found. Where there are none, only a workspace that is there already
    will do: CommandError otherwise, and no folder is made."""
    from fcreview.cli.progress import Progress
    from fcreview.importers.registry import read_plan
    from fcreview.store.importing.datasets import DataChoice
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
    set_reading(found.plans, place, config, workspace)
    progress, choice = Progress(), DataChoice(named_folders(place), place.forget_data)
    try:
        return workspace, import_runs(
            workspace, found.plans, read_plan, issues=found.issues, progress=progress, data=choice
        )
    finally:
        progress.close()


def set_reading(plans: Sequence[RunPlan], place: Place, config: Config, workspace: Workspace) -> None:
    """With which decoder and which errata the runs are read, as said now or before."""
    from fcreview.cli.finding.decoders import ask_for
    from fcreview.cli.finding.errata import read_with

    ask_for(plans, place.decoder, config.decoders, workspace)
    read_with(plans, place.errata, workspace)


@contextmanager
def opened(place: Place) -> Iterator[Opened]:
    """The workspace of the paths, brought up to date. CommandError if there is nothing to show."""
    policy = one_of(POLICIES, place.policy, "policy")
    config = load_config()
    workspace, scope = up_to_date(place, config)
    session = Opened(workspace, annotator_of(place, config), scope, policy, place)
    try:
        yield session
    finally:
        session.close()


def up_to_date(place: Place, config: Config) -> tuple[Workspace, tuple[int, ...]]:
    """The workspace with all that lies at the paths, and the runs that were named (none: all). Where nothing changed
    since the last time, no importer is asked."""
    from fcreview.cli.finding.seen import Seen
    from fcreview.cli.finding.telling import is_settled, tell_errata, tell_failures, tell_missing
    from fcreview.store.workspace import WorkspaceError

    seen = Seen(searched(place), data_folders(place, config), f"{place.format} {place.decoder} {config.decoders}")
    with suppress(WorkspaceError):
        workspace = workspace_of(place, create=False)
        runs = seen.runs(workspace) if place.errata is None else None  # errata are checked, whatever was seen
        if runs is not None:
            return workspace, runs
    found = discovered(place, config)
    seen.note(found.plans)
    workspace, summary = bring_in(place, found, config)
    usable = [row for row in summary.runs if row["status"] != "failed" or row["items"]]
    tell_failures(summary)
    tell_missing(summary)
    tell_errata(summary, workspace.errata)
    if not usable and (summary.runs or not is_place_of(workspace, place.paths)):
        raise CommandError(nothing_found(place, summary))
    scope = scope_of(workspace, place, usable)
    if is_settled(summary):
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


def nothing_found(place: Place, summary: ImportSummary) -> str:
    where = ", ".join(str(path) for path in place.paths)
    if summary.runs:
        return f"no run could be imported from {where}"
    errors = [issue for issue in summary.issues if issue["severity"] != "notice"]
    of = f"{errors[0]['file']}: " if errors and errors[0]["file"] != where else ""
    why = f": {of}{errors[0]['what']}" if errors else ""
    return f"no runs found in {where}{why} (fcreview doctor says what was looked at)"

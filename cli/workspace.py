"""Whether what lies at some paths is as it was when it was last brought in: then nothing is searched or imported.

`.fcreview/seen.json` holds, by a digest of what was asked (paths, dataset folders, format, decoders), `{"state": a
digest of the names, sizes and times of all files that mattered, "others": files outside the paths, "runs": numbers in
the store}`. What mattered are the files at the paths, the datasets, the store itself and the programs that read and
write it. Only where every run has its dataset is anything kept: a missing one is looked for each time. A file that is
lost or wrong costs a search and nothing else.

What is said on standard error of runs that could not be brought in as they are on disk.

What a command works on: a workspace that is up to date, and the items of it that it was asked for.

From the paths a person names to an open store: find the workspace, find the runs, import what is new.
"""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field, replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fcreview.importers
import fcreview.store
from fcreview.cli.config import Config, load_config
from fcreview.cli.errors import CommandError, UsageError, one_of
from fcreview.cli.output import emit, note
from fcreview.importers.common.discovery import gather
from fcreview.model.sanitize import visible
from fcreview.model.verdict import POLICIES, UNANIMOUS, Policy
from fcreview.model.wording import count_of
from fcreview.safe_files import read_object, write_object

if TYPE_CHECKING:
    from fcreview.run_plan import Found, RunPlan
    from fcreview.store.importing.dataset_paths import Remembered
    from fcreview.store.queues.queue_file import QueueFile
    from fcreview.store.reviews.journal import Journal
    from fcreview.store.reviews.reviewer import Reviewer
    from fcreview.store.rows import ImportSummary, RunRow, View
    from fcreview.store.store import Store
    from fcreview.store.workspace import Workspace


KEPT = 32
"""Questions remembered in one workspace."""


class Seen:
    """What lies at the paths now; made before the search, so that what changes during an import is seen next time."""

    def __init__(self, paths: Sequence[Path], data: Sequence[Path], how: str) -> None:
        self._question = _digest(f"{len(paths)} {how}", *map(os.fspath, [*paths, *data]))
        self._files = gather(paths).files
        self._here = _state([*self._files, *_programs()])
        self._others: list[str] | None = None
        self._there = ""

    def runs(self, workspace: Workspace) -> tuple[int, ...] | None:
        """The runs at the paths if nothing changed since `keep`; else None."""
        kept = read_object(_file(workspace)).get(self._question)
        if not isinstance(kept, dict) or not _are(kept.get("others"), str) or not _are(kept.get("runs"), int):
            return None
        same = kept.get("state") == self._state(workspace, _state(map(Path, kept["others"])))
        return tuple(kept["runs"]) if same else None

    def note(self, plans: Sequence[RunPlan]) -> None:
        """Looks at the datasets, before they are read."""
        if plans and all(plan.data for plan in plans):
            inside = set(self._files)
            self._others = sorted({os.fspath(path) for plan in plans for path in plan.files if path not in inside})
            self._there = _state(map(Path, self._others))

    def keep(self, workspace: Workspace, runs: Sequence[int]) -> None:
        """Remembers that these runs are in the store as they are on disk."""
        if self._others is None:
            return
        state = self._state(workspace, self._there)
        entry = {"state": state, "others": self._others, "runs": list(runs)}
        kept = {name: value for name, value in read_object(_file(workspace)).items() if name != self._question}
        kept = dict([*kept.items()][1 - KEPT :]) | {self._question: entry}
        with contextlib.suppress(OSError):
            write_object(_file(workspace), kept)

    def _state(self, workspace: Workspace, others: str) -> str:
        return _digest(self._here, others, _state([workspace.store, workspace.errata]))


def _programs() -> list[Path]:
    """Another version of the importers may read the same files differently."""
    return gather(Path(place) for package in (fcreview.importers, fcreview.store) for place in package.__path__).files


def _state(files: Iterable[Path]) -> str:
    return _digest(*(_look(file) for file in files))


def _look(file: Path) -> str:
    """The time of its status too: who may read it changes nothing else."""
    try:
        found = file.stat()
    except OSError:
        return f"{file} -"
    return f"{file} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns} {found.st_ino}"


def _digest(*parts: str) -> str:
    return blake2b("\0".join(parts).encode("utf-8", "surrogateescape"), digest_size=16).hexdigest()


def _file(workspace: Workspace) -> Path:
    return workspace.root / "seen.json"


def _are(values: Any, kind: type) -> bool:
    return isinstance(values, list) and all(type(value) is kind for value in values)


TOLD = 3
_WHAT_NOW = "say where it is with --data DIR, or give it up with fcreview import --forget-data"
_MISSING = {
    "kept": "the last import is kept",
    "outdated": "the last import is kept, and the results that have changed since are not shown",
}


def tell_missing(summary: ImportSummary) -> None:
    """Datasets that are not where they were: a line for each folder and what that means."""
    alike: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for row in summary.runs:
        if row["missing_dataset"] is not None:
            meaning = _MISSING.get(row["status"], "imported without it")
            alike.setdefault((row["missing_dataset"], meaning), []).append(row)
    for (folder, meaning), rows in alike.items():
        note(f"fcreview: {_runs(rows)}: dataset not found (it was in {folder}): {meaning}; {_WHAT_NOW}")


def _runs(rows: Sequence[dict[str, Any]]) -> str:
    """`maple`, or `12 runs (maple, birch, cedar ...)`."""
    names = ", ".join(row["model"] for row in rows[:TOLD])
    if len(rows) == 1:
        return names
    return f"{count_of(len(rows), 'run')} ({names}{' ...' if len(rows) > TOLD else ''})"


def tell_failures(summary: ImportSummary) -> None:
    """Runs that could not be read: what follows is without them."""
    failed = [row for row in summary.runs if row["status"] == "failed"]
    for row in failed[:TOLD]:
        reason = next((i["what"] for i in summary.issues if i["file"] == row["path"] and i["severity"] == "error"), "")
        note(f"fcreview: {reason or 'not imported: ' + row['model']}")
    if len(failed) > TOLD:
        note(f"fcreview: {count_of(len(failed) - TOLD, 'more run')} could not be read: fcreview import shows them")


def tell_errata(summary: ImportSummary, errata: Path) -> None:
    """Entries of these errata that were not applied: a line each, however many runs they concern."""
    found = {(i["line"], i["item"], i["what"]) for i in summary.issues if i["file"] == str(errata)}
    for line, item, what in sorted(found)[:TOLD]:
        note(f"fcreview: errata, line {line}, {visible(item)}: {what}")
    if len(found) > TOLD:
        more = count_of(len(found) - TOLD, "more erratum", "more errata")
        note(f"fcreview: {more} not applied: fcreview import --errata")


def is_settled(summary: ImportSummary) -> bool:
    """Whether every run is in the store as it is on disk, so that it need not be looked for again."""
    return all(row["status"] in ("imported", "unchanged") and not row["missing_dataset"] for row in summary.runs)


LISTED = 8
"""Runs that are named where one has to be chosen."""


@dataclass(slots=True)
class Opened:
    """A workspace brought up to date, and which of its runs lie at the paths that were named."""

    workspace: Workspace
    annotator: str
    scope: tuple[int, ...] = ()
    """Numbers of those runs; empty for every run of the workspace."""
    policy: Policy = UNANIMOUS
    """What counts where annotators differ."""
    place: Place | None = None
    """What was named on the command line."""
    _store: Store | None = None
    _runs: list[RunRow] = field(default_factory=list)

    @property
    def store(self) -> Store:
        """Opened when first asked for."""
        if self._store is None:
            from fcreview.store.store import Store

            self._store = Store.open(self.workspace, self.annotator, policy=self.policy)
            _tell(self._store.reviews.warnings)
        return self._store

    @property
    def runs(self) -> list[RunRow]:
        if not self._runs:
            self._runs = [row for row in self.store.runs() if not self.scope or row.run in self.scope]
        return self._runs

    def head(self, *, as_json: bool = False) -> None:
        """Says at the head of figures and lists that they are made with another policy than the usual one; on stderr,
        where JSON follows."""
        if self.policy != UNANIMOUS:
            (note if as_json else emit)(
                f"policy {self.policy}: where annotators differ, what more than half say counts"
            )

    def why_none(self, view: View) -> str:
        """The likely reason why the view holds no item: a filter on what somebody else reviewed, say."""
        from fcreview.store.filters.parser import parse
        from fcreview.store.reviews.journal_reader import journal_files

        if not view.where.strip():
            return "there are no items"
        said = f"no item matches {visible(view.where)}"
        names = [journal.stem for journal in journal_files(self.workspace)]
        if not parse(view.where).reviews or self.annotator in names:
            return said
        others = f"reviews are of {visible(', '.join(names[:8]))}: --annotator NAME" if names else "nobody reviewed yet"
        return f"{said}: {visible(self.annotator)} has no reviews here, {others}"

    def close(self) -> None:
        if self._store is not None:
            self._store.close()

    def view(
        self, where: str = "", *, queue: str = "dataset", seed: int = 0, run: str | None = None, blind: bool = False
    ) -> View:
        """The items at the paths that the filter selects, where `@name` stands for one that the annotator saved.
        FilterError if it is not understood, UsageError for a queue that is not there or, blind, tells verdicts."""
        from fcreview.store.filters.saved import expanded, saved
        from fcreview.store.rows import QUEUES, SUSPECTS, TELLING, View
        from fcreview.store.workspace import Own

        if queue not in QUEUES:
            self.queue_file(queue)
        if blind and queue in TELLING:
            open_ = [name for name in QUEUES if name not in TELLING]
            raise UsageError(
                f"--queue {queue} tells verdicts: with --blind there are {', '.join(open_)}, and queue files"
            )
        where = expanded(where, saved(Own(self.workspace.root, self.annotator)), blind=blind)
        view = View(where, queue, seed, (self.run(run),) if run else self.scope)
        if queue == SUSPECTS:
            self.store.take_suspects(view)
        return view

    def to_review(
        self, where: str = "", *, queue: str | None = None, seed: int = 0, run: str | None = None, blind: bool = False
    ) -> View:
        """As `view`, of a queue file the annotator's share. Failures, or blind the dataset, if no queue is named."""
        usual = "dataset" if blind else "failures"
        return self.share(self.view(where, queue=queue or usual, seed=seed, run=run, blind=blind))

    def queue_file(self, name: str) -> QueueFile:
        """Ready to be asked for as `View.queue`. UsageError if there is none of this name."""
        from fcreview.store.queues.queue_file import queue_names
        from fcreview.store.rows import QUEUES

        known = queue_names(self.workspace)
        if name not in known:
            raise UsageError(f"no queue {name!r}: there are {', '.join((*QUEUES, *known))}")
        return self.store.take_queue(name)

    def share(self, view: View) -> View:
        """Of a queue file the annotator's share; of another view what it is. CommandError for who has none."""
        if view.file is None:
            return view
        queue = self.queue_file(view.file)
        if queue.share_of(self.annotator) is None:
            names = ", ".join(share.annotator for share in queue.shares)
            raise CommandError(f"queue {view.file} has no share for {self.annotator}: --annotator is one of {names}")
        return replace(view, share=True)

    def run(self, named: str) -> int:
        """The number of the run that a person means by its number or model."""
        found = [row for row in self.runs if named in (str(row.run), row.info.model)]
        if len(found) == 1:
            return found[0].run
        said = "not one" if found else "none"
        raise CommandError(f"run {named!r} is {said} of the runs here: {listed(found or self.runs)}")

    def chosen(self, named: str | None) -> list[RunRow]:
        """The run that --run means; all of them where it was not given."""
        number = None if named is None else self.run(named)
        return [row for row in self.runs if number in (None, row.run)]

    def reviewer(self) -> Reviewer:
        from fcreview.store.reviews.reviewer import Reviewer

        return Reviewer(self.store, self.journal())

    def journal(self) -> Journal:
        from fcreview.store.reviews.journal import Journal

        return Journal(self.workspace, self.annotator)


def listed(rows: Sequence[RunRow]) -> str:
    """`1 gpt-4o, 2 maple-8b`, for who has to choose one; not safe to draw yet."""
    known = ", ".join(f"{row.run} {row.info.model}" for row in rows[:LISTED])
    return known + (f" and {len(rows) - LISTED} more" if len(rows) > LISTED else "")


def _tell(warnings: Sequence[str]) -> None:
    """Reviews that do not count because their lines cannot be read, on stderr."""
    for warning in warnings[:TOLD]:
        note(f"fcreview: {warning}")
    if len(warnings) > TOLD:
        note(f"fcreview: {len(warnings) - TOLD} more problems in the journals: fcreview doctor shows them")


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
    from fcreview.cli.dataset_options import Folders, with_datasets
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
    from fcreview.store.importing.dataset_paths import Remembered
    from fcreview.store.workspace import WorkspaceError

    try:
        return Remembered(workspace_of(place, create=False))
    except WorkspaceError:
        return None


def bring_in(place: Place, found: Found, config: Config) -> tuple[Workspace, ImportSummary]:
    """Imports what is new or changed of the runs found. Where there are none, only a workspace that is there already
    will do: CommandError otherwise, and no folder is made."""
    from fcreview.cli.output import Progress
    from fcreview.importers.registry import read_plan
    from fcreview.store.importing.dataset_paths import DataChoice
    from fcreview.store.importing.run_importer import import_runs
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
    from fcreview.cli.import_options import ask_for, read_with

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
    from fcreview.store.workspace import check_annotator, default_annotator

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

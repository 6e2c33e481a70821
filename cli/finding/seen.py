"""Whether what lies at some paths is as it was when it was last brought in: then nothing is searched or imported.

`.fcreview/seen.json` holds, by a digest of what was asked (paths, dataset folders, format, decoders), `{"state": a
digest of the names, sizes and times of all files that mattered, "others": files outside the paths, "runs": numbers in
the store}`. What mattered are the files at the paths, the datasets, the store itself and the programs that read and
write it. Only where every run has its dataset is anything kept: a missing one is looked for each time. A file that is
lost or wrong costs a search and nothing else.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

import fcreview.importers
import fcreview.store
from fcreview.importers.common.gather import gather
from fcreview.store.kept import read_object, write_object

if TYPE_CHECKING:
    from fcreview.plan import RunPlan
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

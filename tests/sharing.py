"""Imported runs that all test processes share."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import Path
from tempfile import mkdtemp

from fcreview.importers.registry import discover, read_items
from fcreview.store.importing.run_importer import import_runs
from fcreview.store.workspace import Workspace, find_workspace


class Imports:
    """Workspaces of runs in other folders. The first test that needs a workspace imports it."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(exist_ok=True)

    def of(self, paths: Sequence[Path]) -> Workspace:
        """Return the shared workspace of the runs at these paths. Tests must not write to it."""
        place = (
            self._folder / blake2b("\0".join(map(str, paths)).encode(), digest_size=8).hexdigest()
        )
        if not place.exists():
            fresh = Path(mkdtemp(dir=self._folder))
            import_runs(
                find_workspace(fresh, fresh), discover(paths).plans, read_items, n_workers=1
            )
            try:
                fresh.rename(place)
            except OSError:  # another process imported the same runs
                shutil.rmtree(fresh)
        return find_workspace(place, place)

    def copy(self, paths: Sequence[Path], place: Path) -> Workspace:
        """Copy the workspace to `place` and return the copy."""
        shutil.copytree(self.of(paths).parent_folder, place, dirs_exist_ok=True)
        return find_workspace(place, place)

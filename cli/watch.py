"""Result files that change while the app is open: `watching` sees it, `taking` is the process that imports them.

Whether the files of runs change while the app is open, and the process that takes them in.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Sequence
from pathlib import Path

import orjson

from fcreview.cli.workspace import Place, searched, workspace_of
from fcreview.importers.common.discovery import gather
from fcreview.store.rows import News
from fcreview.tui.live_reload import FollowError, Taken

PATIENCE = 5.0
"""Seconds that the process has to tidy up."""
OURS = "fcreview: "
"""What lines for people begin with."""
State = dict[str, tuple[int, int]]
"""Size and time by path."""


class Watching:
    """Made before what is there is imported: what changes during that is seen at the first look.

    Files at the paths, and those beside them that runs are read from: scores, datasets.
    """

    def __init__(self, place: Place, interval: float) -> None:
        """CommandError if a path is not there."""
        self.interval = interval
        self._place = place
        self._paths = searched(place)
        self.runs: Sequence[int] = ()
        """Those that were opened; empty for all of the workspace."""
        self._seen = _state(gather(self._paths).files)
        self._beside: list[Path] | None = None
        self._failed = self._taken = False
        self._process: subprocess.Popen[bytes] | None = None
        self._closed = False

    def changed(self) -> bool:
        """What could not be taken in counts as changed."""
        files = gather(self._paths).files
        if self._beside is None:
            imported = self._read_from(files)
            self._beside = sorted(map(Path, imported))
            seen = {path: of for path, of in self._seen.items() if path in imported or self._lies_here(Path(path))}
            # the first time as they were imported; later on they may be known to be others, and kept so
            self._seen = (_state(self._beside) if self._taken else imported) | seen
        now = _state([*files, *self._beside])
        before, self._seen = self._seen, now
        return now != before or self._failed

    def take_in(self) -> Taken:
        place = self._place
        asked = {
            "paths": [os.path.abspath(path) for path in place.paths],  # noqa: PTH100 - as named: links are not followed
            "data": [os.path.abspath(path) for path in place.data or ()] or None,  # noqa: PTH100
            "workspace": os.path.abspath(place.workspace) if place.workspace else None,  # noqa: PTH100
            "format": place.format,
            "decoder": place.decoder,
        }
        self._failed = True
        answer, told = self._ask(orjson.dumps(asked).decode())
        try:
            found = orjson.loads(answer)
        except ValueError:
            raise FollowError(told or "the import was broken off") from None
        if "error" in found:
            raise FollowError(str(found["error"]).removeprefix(OURS))
        before, self.runs = tuple(self.runs), tuple(found["runs"])
        self._failed, self._taken, self._beside = False, True, None
        return Taken(News(found["new"], found["changed"], found["gone"]), self.runs, before, told)

    def close(self) -> None:
        self._closed = True
        process = self._process
        if process is None or process.poll() is not None:
            return
        process.terminate()
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()

    def _ask(self, question: str) -> tuple[bytes, str]:
        """Its answer, and the first line of what it told. Its input stays open as long as somebody waits: it ends with
        this process, however that ends."""
        command = [sys.executable, "-P", "-m", "fcreview.cli.import_process", question]
        with (
            tempfile.TemporaryFile() as told,
            subprocess.Popen(  # noqa: S603 - ourselves
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=told,
                start_new_session=True,  # what the terminal sends is for the app
            ) as process,
        ):
            self._process = process
            if self._closed:
                process.terminate()
            assert process.stdin and process.stdout  # noqa: S101 - for the type checker: they are pipes
            answer = process.stdout.readline()
            process.stdin.close()
            process.wait()
            told.seek(0)
            lines = told.read().decode("utf-8", "replace").splitlines()
        notes = [line.removeprefix(OURS) for line in lines if line.startswith(OURS)]
        return answer, notes[0] if notes else ""

    def _read_from(self, files: Iterable[Path]) -> State:
        """Files of the runs in the store that do not lie at the paths, as they were imported."""
        from fcreview.store.importing.builder import read_index

        workspace = workspace_of(self._place, create=False)
        runs = [stored for stored in read_index(workspace).runs.values() if not self.runs or stored.run in self.runs]
        here = set(files)
        sources = [(workspace.full(source.path), source) for stored in runs for source in stored.sources]
        return {
            os.fspath(path): (source.size, source.mtime_ns)
            for path, source in sources
            if path not in here and not self._lies_here(path) and source.size >= 0
        }

    def _lies_here(self, path: Path) -> bool:
        return any(path.is_relative_to(each) for each in self._paths)


def _state(files: Iterable[Path]) -> State:
    found: State = {}
    for file in files:
        try:
            status = file.stat()
        except OSError:
            continue
        found[os.fspath(file)] = (status.st_size, status.st_mtime_ns)
    return found

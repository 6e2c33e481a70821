"""Places of journal lines that the team's server sent, for lines that have no place of their own.

`reviews/team/NAME.places` has a line `HASH PLACE` for each journal line by the annotator NAME that
an older version of fcreview wrote. `line_order` explains places; here they are JSON lists. fcreview
only appends to the files, and fetches them again from the server if they are deleted. Invalid lines
are ignored.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import orjson

from fcreview.model.json_value import is_string_list
from fcreview.safe_files import MAX_JOURNAL_BYTES, check_file_size
from fcreview.store.reviews.line_order import Place, parse_place

if TYPE_CHECKING:
    from fcreview.store.workspace import Workspace


@dataclass(frozen=True, slots=True)
class _PlacesFile:
    state: tuple[int, int]  # inode and size
    content: bytes
    places: Mapping[str, Place]  # by hash of the journal line


class ServerPlaces:
    """Reads the files of places of all annotators.

    A call of `refresh` reads only files that have changed.
    """

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._files: dict[Path, _PlacesFile] = {}

    def refresh(self) -> None:
        """Read the files that have changed since the last call."""
        files = {}
        for path in list_places_files(self._workspace):
            state = _read_state(path)
            known = self._files.get(path)
            if known is None or known.state != state:
                known = self._read(path, state)
            files[path] = known
        self._files = files

    def get_places(self, annotator: str) -> Mapping[str, Place]:
        """Return the places of an annotator's lines, by hash of the line."""
        for path, file in self._files.items():
            if unicodedata.normalize("NFC", path.stem) == annotator:
                return file.places
        return {}

    def list_contents(self) -> dict[str, bytes]:
        """Return the content of each file that is not empty, by its path in `reviews/`."""
        reviews = self._workspace.reviews
        return {
            path.relative_to(reviews).as_posix(): file.content
            for path, file in self._files.items()
            if file.content
        }

    def _read(self, path: Path, state: tuple[int, int]) -> _PlacesFile:
        try:
            content = self._workspace.files.read(path, MAX_JOURNAL_BYTES)
        except OSError:
            content = b""
        return _PlacesFile(state, content=content, places=_parse_places(content))


def append_server_places(workspace: Workspace, annotator: str, places: Mapping[str, Place]) -> None:
    """Save the places of an annotator's lines that the file lacks, and sync the file to disk.

    Raises OSError.
    """
    path = workspace.team_reviews / f"{annotator}.places"
    workspace.files.make_folder(path.parent)
    descriptor = workspace.files.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT)
    try:
        check_file_size(descriptor, str(path), MAX_JOURNAL_BYTES)
        content = os.pread(descriptor, os.fstat(descriptor).st_size, 0)
        new_lines = _format_missing_places(content, places)
        if not new_lines:
            return

        # After a crash, the file can end with an incomplete line.
        if content and not content.endswith(b"\n"):
            new_lines = b"\n" + new_lines
        _write_all(descriptor, new_lines)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _format_missing_places(content: bytes, places: Mapping[str, Place]) -> bytes:
    """Return the lines of the places that the content of a file lacks or states differently."""
    saved_places = _parse_places(content)
    lines = []
    for name, place in places.items():
        if saved_places.get(name) != place:
            lines.append(_format_line(name, place))
    return b"".join(lines)


def _write_all(descriptor: int, data: bytes) -> None:
    """Write all bytes. The system may write only some of them in one call."""
    remaining = data
    while remaining:
        n_written = os.write(descriptor, remaining)
        remaining = remaining[n_written:]


def list_places_files(workspace: Workspace) -> list[Path]:
    return sorted(workspace.team_reviews.glob("*.places"))


def measure_places_files(workspace: Workspace) -> dict[str, int]:
    """Return the size in bytes of each file that is not empty, by its path in `reviews/`.

    Raises OSError.
    """
    sizes = {}
    for path in list_places_files(workspace):
        size = path.stat().st_size
        if size:
            sizes[path.relative_to(workspace.reviews).as_posix()] = size
    return sizes


def _read_state(path: Path) -> tuple[int, int]:
    try:
        status = path.stat()
    except OSError:
        return 0, 0
    return status.st_ino, status.st_size


def _format_line(name: str, place: Place) -> bytes:
    return name.encode() + b" " + orjson.dumps(place.to_texts()) + b"\n"


def _parse_places(content: bytes) -> dict[str, Place]:
    """Return hash of a line -> its place from the content of a file of places. Invalid lines are
    left out.
    """
    places = {}
    for line in content.split(b"\n"):
        name, _, text = line.partition(b" ")
        try:
            texts = orjson.loads(text)
        except ValueError:
            continue
        place = parse_place(texts) if is_string_list(texts) else None
        if place is not None:
            places[name.decode("utf-8", "replace")] = place
    return places

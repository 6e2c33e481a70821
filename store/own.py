"""What the program keeps for one annotator beside the reviews: `.fcreview/<kind>/<annotator>.json`, an object of each
kind. None of it is needed: it may be thrown away at any time."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fcreview.store.kept import read_object, write_object
from fcreview.store.modes import make_folder


@dataclass(frozen=True, slots=True)
class Own:
    root: Path | None
    """The workspace's own folder. Without one nothing is kept."""
    annotator: str

    def file(self, kind: str) -> Path | None:
        return self.root / kind / f"{self.annotator}.json" if self.root is not None else None

    def read(self, kind: str) -> dict[str, Any]:
        """Empty if there is none that can be read."""
        file = self.file(kind)
        return read_object(file) if file is not None else {}

    def keep(self, kind: str, value: dict[str, Any]) -> None:
        """Whole or not at all; where it cannot be written, it is not kept."""
        with suppress(OSError):
            self.write(kind, value)

    def write(self, kind: str, value: dict[str, Any]) -> None:
        """As `keep`; OSError if it cannot be written."""
        file = self.file(kind)
        if file is None:
            raise FileNotFoundError("there is no workspace to keep it in")
        file.parent.parent.stat()  # a workspace that has gone is not made anew
        make_folder(file.parent)
        write_object(file, value)

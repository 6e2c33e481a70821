"""Exports: chooses the format and puts what it makes in place."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from fcreview.errors import WRONG_USAGE
from fcreview.exporters.base import Benchmarks, Content, ExportError, FolderFormat, Format, Sink, Source, Told
from fcreview.exporters.placing import new_file, new_folder
from fcreview.exporters.registry import EXPORTERS

if TYPE_CHECKING:
    from fcreview.store.labels.reading import Choice
    from fcreview.store.rows import View
    from fcreview.store.store import Store

STANDARD_OUTPUT = "-"


class FormatError(ExportError):
    """The format does not exist, or cannot go where it was sent."""

    code = WRONG_USAGE


def standard_output(content: Content) -> Sink:  # noqa: ARG001 - bytes are bytes: who prints for people hands in another
    return sys.stdout.buffer


@dataclass(frozen=True, slots=True)
class Watched:
    """By a person, or by nobody."""

    stdout: Callable[[Content], Sink] = standard_output
    """What takes the bytes that go to standard output."""
    told: Told | None = None
    """Hears how many there are so far."""


NOBODY = Watched()


def export(
    store: Store,
    name: str,
    out: str | Path,
    view: View | None = None,
    watched: Watched = NOBODY,
    choice: Choice | None = None,
    benchmarks: Benchmarks | None = None,
) -> dict[str, int]:
    """Writes the items that the view selects in the format `name`. Returns how many of what: {"label": 5}. `choice`
    says which labels of these items, and how much of each; all of them, unless it is given. `benchmarks` is needed by
    formats that write their files.

    `out` is a file or a folder, which is there whole or not at all, or `-` for standard output. ExportError for a place
    that cannot be written to or that holds something else; FilterError and StoreError are the store's own.
    """
    from fcreview.store.labels.reading import EVERY_LABEL
    from fcreview.store.rows import View

    source = Source(store, view or View(), choice or EVERY_LABEL, benchmarks, watched.told)
    chosen = _format(name)
    if str(out) == STANDARD_OUTPUT:
        if isinstance(chosen, FolderFormat):
            raise FormatError(f"{name} makes a folder, which standard output cannot take: name one with -o")
        sink = watched.stdout(chosen.content)
        chosen.load()(source, sink)
        sys.stdout.flush()
        return source.counts
    try:
        if isinstance(chosen, FolderFormat):
            with new_folder(Path(out)) as folder:
                chosen.load()(source, folder)
        else:
            with new_file(Path(out)) as file:
                chosen.load()(source, file)
    except OSError as error:
        raise ExportError(f"{out}: {error.strerror or error}") from error
    return source.counts


def _format(name: str) -> Format:
    if name not in EXPORTERS:
        raise FormatError(f"no format {name!r}: there are {', '.join(sorted(EXPORTERS))}")
    return EXPORTERS[name]

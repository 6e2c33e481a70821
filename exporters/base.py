"""What an export format is, and what it is given to write from.

A format is one file here and one line in `registry.py`. Its module has a function `write`: of a `FileFormat`
`write(source, out)`, which hands whole lines (or any bytes, if its content is binary) to `out.write`; of a
`FolderFormat` `write(source, folder)`, which makes files in an empty folder. Neither opens the target, names it or asks
whether it may be replaced: `export.py` does, the same way for all, and puts nothing in place before `write` is through.

The formats. A format's module is imported when it is used, never to list it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeVar

import orjson

from fcreview.errors import FcreviewError

if TYPE_CHECKING:
    from fcreview.model.item import Item, Run
    from fcreview.model.metric import ScoredItem
    from fcreview.run_plan import AppliedGoldenFix, Unrepresentable, RewrittenFile, RunPlan
    from fcreview.store.labels.fields import DuckDBType
    from fcreview.store.labels.import_labels import ImportedReview, InvalidRecord
    from fcreview.store.labels.read import LabelSelection
    from fcreview.store.rows import ItemDetail, RunRow, View
    from fcreview.store.store import Store


T = TypeVar("T")
Label = dict[str, Any]
"""One row with the fields `Source.shapes`, see `fcreview.store.labels.fields`."""
Told = Callable[[str, int], object]
Content = Literal["text", "json", "binary"]
"""What a file holds: lines of text, lines of JSON, or bytes that are neither. Tells what is safe on a terminal."""


class ExportError(FcreviewError):
    """An export that was not written; whatever was at its place before is still there."""


class Sink(Protocol):
    """Where the bytes of a file go: an open file, or standard output made safe for whoever reads it."""

    def write(self, data: bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class Benchmarks:
    """What the benchmarks' importers lend to formats that write their files; handed in, as no exporter knows them."""

    plan: Callable[[Run], RunPlan]
    """Which files a run is made of. FcreviewError if they are no longer there."""
    rewrite: Callable[[RunPlan, Sequence[ScoredItem]], Iterator[RewrittenFile | Unrepresentable]]
    summaries: Callable[[RunPlan], list[Path]]
    """Files with figures that another program makes of the scores."""
    golden_problem: Callable[[Run, Item, dict[str, Any]], str | None]
    """What is wrong with a golden answer that people give for an item."""
    rewrite_golden: Callable[
        [RunPlan, dict[tuple[str, str], dict[str, Any]]], Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]
    ]
    """(category, id) -> fix."""
    tell: Callable[[str], None]
    """Takes what could not be written, and what is to be known of what was: a line each."""


@dataclass(frozen=True, slots=True)
class FileFormat:
    """Makes one file, which may also be standard output."""

    name: str
    """As in `--format`."""
    help: str
    """One line for `fcreview export --help`."""
    content: Content
    load: Callable[[], Callable[[Source, Sink], None]]
    """Gives `write`; imports the format's module and what that needs."""
    read: Callable[[], Callable[[bytes], Iterator[ImportedReview | InvalidRecord]]] | None = None
    """Gives `read`, which finds people's reviews in what the format's file holds; None if it cannot be taken in."""


@dataclass(frozen=True, slots=True)
class FolderFormat:
    """Makes a folder."""

    name: str
    help: str
    load: Callable[[], Callable[[Source, Path], None]]


Format = FileFormat | FolderFormat


class Source:
    """What an export is made of: the items of a view of the store, with everything that belongs to them.

    Labels and items may each be asked for more than once. StoreError in blind mode, FilterError for a view whose filter
    is not understood, both when the first list is asked for.
    """

    def __init__(
        self, store: Store, view: View, choice: LabelSelection, benchmarks: Benchmarks | None = None, told: Told | None = None
    ) -> None:
        """`told`: hears how many were handed out so far, of which noun."""
        self.store = store
        self.view = view
        self.choice = choice
        """Which labels, and how much of each."""
        self.counts: dict[str, int] = {}
        """How many were handed out, by noun, of what was asked for: {"label": 5}. Of the last time, if asked twice."""
        self._benchmarks = benchmarks
        self._told = told

    @property
    def benchmarks(self) -> Benchmarks:
        """ExportError if none were handed in."""
        if self._benchmarks is None:
            raise ExportError("this format writes benchmarks' own files, and nobody has said how")
        return self._benchmarks

    @property
    def runs(self) -> list[RunRow]:
        """The runs that have items in the view, each with its counts over all of its items."""
        chosen = {run for run, _ in self.store.fetch_facets(self.view)["run"]}
        return [row for row in self.store.fetch_runs() if str(row.run) in chosen]

    @property
    def shapes(self) -> dict[str, DuckDBType]:
        """The fields of a label in the order in which they are written, and their types."""
        from fcreview.store.labels.fields import label_field_types

        return label_field_types(with_content=self.choice.with_content)

    def labels(self) -> Iterator[list[Label]]:
        """Labels in the order of items, each item's own label first; in lists that end with an item."""
        return ([orjson.loads(line) for line in lines] for lines in _ahead(self.lines()))

    def lines(self) -> Iterator[list[str]]:
        """The same labels, each as the text of a JSON object: faster where that is all a format needs."""
        return self._counted("label", self.store.iter_label_lines(self.view, self.choice))

    def items(self) -> Iterator[list[ItemDetail]]:
        """Items in the order of runs and datasets, with messages, calls, verdicts, function documents and reviews."""
        return self._counted("item", self.store.iter_details(self.view))

    def _counted(self, noun: str, chunks: Iterator[list[T]]) -> Iterator[list[T]]:
        """Not a generator: that would keep a list in memory while the next one is made."""
        self.counts[noun] = 0

        def count(chunk: list[T]) -> list[T]:
            self.counts[noun] += len(chunk)
            if self._told is not None:
                self._told(noun, self.counts[noun])
            return chunk

        return map(count, chunks)


def _ahead(chunks: Iterator[T]) -> Iterator[T]:
    """The next one is read while the last is written: reading is DuckDB's work, beside Python's."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = thread.submit(next, chunks, None)
            yield chunk


def _function(module: str, name: str) -> Callable[[], Any]:
    return lambda: getattr(importlib.import_module(f"fcreview.exporters.{module}"), name)


def _both(module: str) -> tuple[Callable[[], Any], Callable[[], Any]]:
    return _function(module, "write"), _function(module, "read")


FORMATS: tuple[Format, ...] = (
    FileFormat("jsonl", "JSON Lines: one label a line, with types and lists", "json", *_both("jsonl")),
    FileFormat("csv", "the same as a table for spreadsheets", "text", _function("csv", "write")),
    FileFormat("parquet", "the same as typed columns, for DuckDB and pyarrow", "binary", _function("parquet", "write")),
    FileFormat("labelstudio", "tasks for Label Studio, predictions, annotations", "json", *_both("label_studio")),
    FolderFormat("hf", "a folder with a card that `datasets` loads", _function("hugging_face", "write")),
    FolderFormat("native", "the benchmark's own score files as reviews have them", _function("native", "write")),
    FolderFormat(
        "golden-patch", "golden fixes as a patch, and a text for upstream", _function("golden_patch", "write")
    ),
)
"""Adding a format is one line here and its module."""

EXPORTERS: dict[str, Format] = {each.name: each for each in FORMATS}

"""Define the export formats, and the data that they write.

A format is one function in a module of this folder and one entry of `FORMATS`. The function gets the source and a
`Sink`, to which it writes whole lines or bytes, or an empty folder, in which it creates files. `export.py` opens and
replaces the target, in the same way for all formats, and only after the function has returned. A module is imported on
first use.
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
    from fcreview.model.item import Call, Item, Run
    from fcreview.model.metric import ScoredItem
    from fcreview.run_plan import AppliedGoldenFix, ReviewedVerdict, RewrittenFile, RunPlan, Unrepresentable
    from fcreview.store.label_import import ImportedReview, InvalidRecord
    from fcreview.store.labels import DuckDBType, LabelSelection
    from fcreview.store.rows import ItemDetail, RunRow, View
    from fcreview.store.store import Store


T = TypeVar("T")
Label = dict[str, Any]
"""One row with the fields of `ExportSource.label_field_types`; see `fcreview.store.labels`."""
ProgressCallback = Callable[[str, int], object]
"""Called with a noun (`label`, `item`) and the number of rows read so far."""
Content = Literal["text", "json", "binary", "folder"]
"""Lines of text, lines of JSON, bytes, or a folder. It decides whether an export may be printed to a terminal."""


class ExportError(FcreviewError):
    """Raised when an export cannot be written. An existing target is unchanged."""


class Sink(Protocol):
    """Receiver of a file's bytes: an open file, or standard output."""

    def write(self, data: bytes, /) -> object: ...


@dataclass(frozen=True, slots=True)
class BenchmarkServices:
    """Importer functions for formats that write benchmark files, because exporters import no importers."""

    find_plan: Callable[[Run], RunPlan]
    """Find the files of a run. Raises FcreviewError if the files no longer exist."""
    rewrite: Callable[[RunPlan, Sequence[ScoredItem]], Iterator[RewrittenFile | Unrepresentable]]
    summaries: Callable[[RunPlan], list[Path]]
    """Return the files with metrics that the benchmark's own program computes from the score files."""
    golden_problem: Callable[[Run, Item, dict[str, Any]], str | None]
    """Describe the error in a golden fix for an item, or return None if the fix is valid."""
    rewrite_golden: Callable[
        [RunPlan, dict[tuple[str, str], dict[str, Any]]], Iterator[RewrittenFile | AppliedGoldenFix | Unrepresentable]
    ]
    """Apply golden fixes, by (category, id), to the files of a run."""
    print_message: Callable[[str], None]
    write_reviewed_logs: (
        Callable[[RunPlan, Sequence[ReviewedVerdict], Sequence[ScoredItem]], Iterator[RewrittenFile | Unrepresentable]]
        | None
    ) = None
    """Return copies of a run's logs with the verdicts of annotators. `plan.run` is the run as it was imported."""
    golden_calls: Callable[[Run, Item, dict[str, Any]], list[Call]] = lambda _, __, ___: []


@dataclass(frozen=True, slots=True)
class ExportFormat:
    name: str
    help: str
    content: Content
    load: Callable[[], Callable[[ExportSource, Any], None]]
    """Import the format's module and return its function that writes to a `Sink`, or to a folder."""
    read: Callable[[], Callable[[bytes], Iterator[ImportedReview | InvalidRecord]]] | None = None
    """Return the function that reads reviews from a file of this format. None if the format cannot be imported."""
    writes_runs: bool = False
    """Whether the format exports complete runs instead of labels. The filter of the view then does not apply."""


class ExportSource:
    """The items and labels of a view, as an export reads them. Items and labels can be read more than once. Reading
    raises StoreError in blind mode and FilterError for an invalid filter."""

    def __init__(
        self,
        store: Store,
        view: View,
        selection: LabelSelection,
        benchmarks: BenchmarkServices | None = None,
        on_progress: ProgressCallback | None = None,
    ) -> None:
        self.store = store
        self.view = view
        self.selection = selection
        """The labels to export, and their fields."""
        self.counts: dict[str, int] = {}
        """Number of rows read, by noun: {"label": 5}. Each call of a method that reads rows starts again from 0."""
        self.make_card: Callable[[str], str] | None = None
        """Takes the name of the export file and returns the text of a dataset card, which is written beside the file.
        None if the format has no card."""
        self._benchmarks = benchmarks
        self._on_progress = on_progress

    @property
    def benchmarks(self) -> BenchmarkServices:
        """Importer functions. Raises ExportError if the caller passed none."""
        if self._benchmarks is None:
            raise ExportError("this format needs the benchmark's files, which are not available here")
        return self._benchmarks

    def print_note(self, text: str) -> None:
        """Print a line about the written files, if the caller accepts notes."""
        if self._benchmarks is not None:
            self._benchmarks.print_message(text)

    @property
    def runs(self) -> list[RunRow]:
        """Runs with items in the view. The counts of a run cover all items of the run."""
        chosen = {run for run, _ in self.store.fetch_facets(self.view)["run"]}
        return [row for row in self.store.fetch_runs() if str(row.run) in chosen]

    @property
    def label_field_types(self) -> dict[str, DuckDBType]:
        """Types of the fields of a label, in the order in which they are written."""
        from fcreview.store.labels import label_field_types

        return label_field_types(with_content=self.selection.with_content)

    def labels(self) -> Iterator[list[Label]]:
        """Yield labels by item, the label of the item itself first. A chunk never splits an item."""
        return ([orjson.loads(line) for line in lines] for lines in _prefetch(self.label_lines()))

    def label_lines(self) -> Iterator[list[str]]:
        """Yield the labels as JSON text, which is faster to write than parsed labels."""
        return self._count_rows("label", self.store.iter_label_lines(self.view, self.selection))

    def items(self) -> Iterator[list[ItemDetail]]:
        """Yield the items by run, in dataset order, with messages, calls, verdicts, function docs and reviews."""
        return self._count_rows("item", self.store.iter_details(self.view))

    def _count_rows(self, noun: str, chunks: Iterator[list[T]]) -> Iterator[list[T]]:
        # A generator would keep a chunk in memory while the next chunk is read.
        self.counts[noun] = 0

        def count(chunk: list[T]) -> list[T]:
            self.counts[noun] += len(chunk)
            if self._on_progress is not None:
                self._on_progress(noun, self.counts[noun])
            return chunk

        return map(count, chunks)


def _prefetch(chunks: Iterator[T]) -> Iterator[T]:
    """Read the next chunk in a thread while the caller writes this one. DuckDB reads without the interpreter lock."""
    with ThreadPoolExecutor(1) as thread:
        coming = thread.submit(next, chunks, None)
        while (chunk := coming.result()) is not None:
            coming = thread.submit(next, chunks, None)
            yield chunk


def _lazy(path: str) -> Callable[[], Any]:
    module, function = path.split(".")
    return lambda: getattr(importlib.import_module(f"fcreview.exporters.{module}"), function)


FORMATS = (
    ExportFormat("jsonl", "JSON Lines: one label per line, with types and lists", "json",
                 _lazy("label_files.write_jsonl"), _lazy("label_files.read_jsonl")),
    ExportFormat("csv", "CSV with the same fields, for spreadsheets", "text", _lazy("label_files.write_csv")),
    ExportFormat("parquet", "Parquet with the same fields as typed columns, for DuckDB and pyarrow", "binary",
                 _lazy("label_files.write_parquet")),
    ExportFormat("labelstudio", "Label Studio tasks with predictions and annotations", "json",
                 _lazy("label_studio.write"), _lazy("label_studio.read")),
    ExportFormat("hf", "a Hugging Face dataset folder with a dataset card", "folder",
                 _lazy("label_files.write_hugging_face")),
    ExportFormat("atif", "ATIF 1.7 trajectories with verdicts and reviews, one file for each item", "folder",
                 _lazy("atif.write")),
    ExportFormat("sft", "training rows: conversations that annotators passed or corrected (TRL, OpenAI)", "json",
                 _lazy("training.write_sft")),
    ExportFormat("preference", "training rows: a right and a wrong reply to the same messages (TRL, OpenAI)", "json",
                 _lazy("training.write_preferences")),
    ExportFormat("inspect", "Inspect logs with reviews as edited scores", "folder", _lazy("inspect_log.write"),
                 writes_runs=True),
    ExportFormat("tau2-notes", "reviews as notes for the viewer of tau2-bench, one file for each review", "folder",
                 _lazy("tau2_notes.write")),
    ExportFormat("native", "the benchmark's own score files with reviewed verdicts", "folder", _lazy("native.write"),
                 writes_runs=True),
    ExportFormat("golden-patch", "golden fixes as a patch, and a report for the maintainers", "folder",
                 _lazy("golden_patch.write"), writes_runs=True),
)  # fmt: skip
EXPORTERS = {each.name: each for each in FORMATS}
